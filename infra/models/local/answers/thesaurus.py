"""Words of one meaning, as groups of keys; and words that the type of an answer implies.

Data: general English of notes, mails and tables, no names. A missing word costs recall, never correctness.
"""

from __future__ import annotations

from graphtide.infra.models.local.answers.values.measures import MEASURED
from graphtide.infra.models.local.answers.words import key_of, word_set
from graphtide.infra.models.local.english.lexical.verbs import VERBS

_GROUPS = """
cost price pay fee charge expense rate cheap expensive
telephone phone mobile extension number
lead leader head chief manager director run
deputy substitute replace replacement successor
make maker build builder manufacture manufacturer produce create
donate donor donation give gift
mend repair fix restore restoration
buy purchase
sell sale
begin start beginning commence
end finish complete
big large size area
tall high height
deep depth
wide width broad
long length duration
heavy weigh weight mass
old age date year
fast quick speed soon rapid
hot warm temperature
reply answer respond response
keep store storage place kept hang
decide decision agree resolve resolution
due deadline
valid validity expire expiry end terminate
agreement contract
allow permit permission may authorise only
error bug fault problem issue defect
solve resolve fix
withdraw recall
move relocate
visit visitor people
job role post position title
work employ employee staff
live reside residence
born birth
die dead death
mail email e-mail
photo photograph picture image
doctor physician
address street
amount sum total
salary earn wage
author write
own owner belong possess
lend borrow loan
guarantee warranty
insure insurer insurance policy
cover include
pilot trial
design designer architect
gamble gambling betting bet
supporter donor backer
surcharge supplement extra
month monthly
year yearly annual
day daily
week weekly
customer client
firm company
child kid
car vehicle
test exam examination
teach teacher teaching hold give instruct instructor
hold held holder
install installation
report reporting
find finding result outcome
maximum max highest most greatest upper limit limited
eur euro euros
gbp pound pounds
usd dollar dollars
minimum min lowest least smallest lower
near nearest close closest
order ordered
need require requirement necessary
enough suffice sufficient need
stock inventory quantity
mean meaning signify
part component spare
arrive arrival
leave departure depart quit
estimate estimated approximately
catch capture
control operate steer
tell inform told
forbid prohibit ban allow permit
meet meeting
speak language
dad father
mum mother
shop store
full level percentage pct percent
press push
air compressed compressor
training train learn learning
supply supplier deliver delivery provide provider order
succeed succession successor replace supersede
double twice
elect election choose
ill illness sick sickness disease
bicycle bike
rent tenant lease rental
trip journey travel excursion outing
attend attendance present participant participate
password passcode pin code pw
fail failure outage crash
cause reason
delay postpone late
reject refuse decline
accept approve approval
danger dangerous risk
injure injury hurt wound casualty
steal theft thief
boat ship vessel
fit seat capacity
spot place seat slot
phone telephone ring call
silent silence quiet
saturday weekend
sunday weekend
hear heard audible
complaint complain feedback
road street
holiday leave vacation
marry wedding marriage
chair chairman president preside
deploy release rollout
migrate migration move
recommend recommendation advise advice
remedy workaround
join joined new start
responsible charge owner
assign assignee assigned responsible
task action todo
choose choice choosing select selection pick decide decision
play actor actress role cast perform performer
spend expense cost price expenditure
colour color
sign signature
submit send
submit submission apply applicant application
founded founder establish start set launch create
meet gather assemble assembly
member membership
fee subscription dues
membership subscription subscribe
value valuable worth
lose loss deficit
refund reimburse reimbursement repay
handle manage responsible charge care
discard dispose disposal dump tip
collect collection
increase rise raise
decrease fall drop reduce
cancel cancellation
arrive arrival come reach
staff employee worker colleague personnel
medicine medication drug tablet pill
bill invoice
discount rebate reduction
clean cleaning cleaner wash
rubbish waste trash garbage refuse litter
toilet lavatory loo
lift elevator
flat apartment
lorry truck van
petrol fuel diesel
lawyer solicitor attorney
pupil student
hire recruit appoint appointment
dismiss sack dismissal redundant
resign quit resignation leave
retire retirement pension
film movie cinema
rehearsal rehearse practise practice
admission entry entrance ticket
luggage baggage
train rail railway
flight plane fly
hotel accommodation lodging
call ring phone telephone
broken faulty defective damaged damage
happen occur
warn warning alert
vote ballot poll
win winner
accident collision
surgery operation operate surgeon
complain complaint
afraid fear scared
wet damp moist moisture
eat food meal feed
drink beverage
pay payment settle
money cash fund
practice surgery clinic
prize award
rise raise increase
plan schedule timetable
plan expect intend schedule
often frequency frequently every
guest visitor
host organiser organise organize
boss superior supervisor manager report
landlord landlady rent own owner belong let
tenant rent lodger lease
customer buy purchase order
supplier sell vendor
own owner acquire takeover
buy acquire takeover acquisition
close shut closure
end expire finish stop cease
arrive arrival deliver delivery ship shipment
change replace exchange swap replacement alter switch
thick thickness diameter
wide diameter
contain ingredient include consist content
allergic allergy allergen intolerant
eat allergic allergy intolerant
wash laundry launderette laundrette
clothes clothing laundry garment
damage destroy break wreck
react answer respond response
base locate location office headquarters
previous former earlier predecessor
inspect inspection inspector check audit auditor verify test
calibrate calibration adjust adjustment
fund funding grant sponsor finance money
upgrade update
holiday absent absence away
absent apology apologies excused regrets missing
restart reboot
certificate certify certification
translate translation translator
invite invitation
guide lead tour
employer employ work
treat treatment vet doctor nurse
noise noisy loud
clinic hospital
forbid forbidden banned
revenue turnover sales
profit earnings surplus
park parking
swallow eat
hire rent
wifi wireless network
licence license
recipe ingredient
shift rota
escalate escalation
"""

_OPPOSITES = """
succeed success fail failure
pass fail
open close shut
start begin stop end
accept approve reject refuse
allow permit forbid prohibit
keep remove drop
arrive leave
work broken break
buy sell
free occupied busy
"""
"""Words of which one answers a question about the other: "Did the trial succeed?" "The trial failed."."""
_KINDS = {"colour color": "red green blue yellow black white grey gray brown orange purple pink violet"}
"""Words for the kinds of a thing: each goes with the thing, and none with another."""
_ADJECTIVES = """big bigger biggest;
 large larger largest; tall taller tallest; high higher highest; deep deeper deepest;
wide wider widest; broad broader broadest; long longer longest; heavy heavier heaviest; old older oldest; fast faster
fastest; quick quicker quickest; hot hotter hottest; warm warmer warmest; cold colder coldest; small smaller smallest;
short shorter shortest; near nearer nearest; close closer closest; cheap cheaper cheapest; expensive; young younger
youngest; early earlier earliest; late later latest; strong stronger strongest; light lighter lightest;
loud louder loudest; quiet quieter quietest; bright brighter brightest; dark darker darkest; thick thicker thickest;
thin thinner thinnest; slow slower slowest; narrow narrower narrowest; shallow shallower shallowest; weak weaker
weakest; cool cooler coolest; steep steeper steepest; soft softer softest; hard harder hardest; rich richer richest;
poor poorer poorest; safe safer safest; dear dearer dearest"""


def _synonyms() -> dict[str, frozenset[str]]:
    """Return the other words of each word's groups; forms of comparison have the groups of their adjective."""
    found: dict[str, frozenset[str]] = {}
    for line in _GROUPS.strip().splitlines():
        keys = frozenset(map(key_of, line.split()))
        for key in keys:
            found[key] = found.get(key, frozenset()) | keys
    for whole, kinds in _KINDS.items():
        for key in map(key_of, kinds.split()):
            for name in map(key_of, whole.split()):
                found[key] = found.get(key, frozenset({key})) | {name}
                found[name] = found.get(name, frozenset({name})) | {key}
    for forms in _ADJECTIVES.split(";"):
        keys = frozenset(map(key_of, forms.split()))
        keys = keys.union(*(found.get(key, frozenset()) for key in keys))
        for key in map(key_of, forms.split()):
            found[key] = found.get(key, frozenset()) | keys
    return {key: keys - {key} for key, keys in found.items()}


SYNONYMS = _synonyms()
OPPOSITES = {
    key: keys - {key}
    for keys in (frozenset(map(key_of, line.split())) for line in _OPPOSITES.strip().splitlines())
    for key in keys
}


def opposites_of(word: str) -> frozenset[str]:
    """Return the keys of words by which a yes-or-no question with this word may be answered."""
    return OPPOSITES.get(key_of(word), frozenset())


def synonyms_of(word: str) -> frozenset[str]:
    """Return the keys of words of the same meaning, of the verb of one who does it ("roofer" has "roof"), and of what
    an adjective measures ("coldest" has "temperature").
    """
    lower = word.lower()
    found = SYNONYMS.get(key_of(word), frozenset()) | MEASURED.get(lower, frozenset())
    if len(lower) > 5 and lower.endswith(("er", "or")) and lower.isalpha():
        found |= {key_of(stem) for stem in (lower[:-2], lower[:-1]) if stem in VERBS and lower not in _NO_AGENTS}
    if lower in VERBS:
        found |= _agents(key_of(word))
    return found - {key_of(word)}


def _agents(verb: str) -> frozenset[str]:
    """Return the keys of the nouns for one who does it: "directs" has "director"."""
    if len(verb) < _MIN_VERB:
        return frozenset()
    stem = verb.removesuffix("e")
    return frozenset({key_of(f"{stem}er"), key_of(f"{stem}or")})


_MIN_VERB = 4
_NO_AGENTS = word_set("flower letter matter master number order power shower tower")
"""Nouns that end as one for a person does, after a verb."""


WEAK = frozenset(
    map(
        key_of,
        word_set(
            """find take get go come work sit stay lie belong serve put happen say tell know look use want need
            do have be stand come list show explain describe mean get become call kind sort type piece thing
            something anything one ones ask there people person somebody someone anybody anyone time way
            today currently recorded far moment new
            after before while because per another other away"""
        ),
    )
)
"""Keys of words that say little about what is asked."""
