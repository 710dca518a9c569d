"""Common English verbs and their forms, which distinguish a verb from a noun without a tagger.

Data and the rules of inflection. A missing verb costs recall, never correctness.
"""

from dataclasses import dataclass

from graphtide.infra.models.local.english.lexical.words import word_set

_REGULAR = """
hand lock knock park phone mail email book borrow check clean fill mention confirm count dissolve donate paint
melt store bore flood steer steam devote differ enjoy exist expect favour intend permit persuade surrender
abandon accept accompany achieve acquire act adapt add adopt advise affect agree aim allow analyse announce
anchor appear apply appoint approach approve arrive ask assemble assign assist attach attack attend award base
battle belong board borrow burn bury calculate calibrate call cancel capture care carry cause celebrate chair
change charge chart check circle cite claim clear climb close collaborate collapse collect collide command
commission compare compete compile complete compose comprise conclude conduct confirm connect conquer consider
consist constitute construct consult contain continue contribute control convert cool correct cost cover crash
create cross damage date deal declare decline dedicate defeat defend define deliver demolish deny depart depend
deploy deposit derive descend describe design destroy detect determine develop devise die direct disappear
discover dismiss display dissolve divide dock document donate double drain drift drop earn edit elect embark
employ enable encompass end enter equip escape establish estimate evacuate examine exceed excavate exchange
exhibit expand explain explode explore export express extend face fail feature film finance finish fire fix
float flow focus follow force form found freeze fuel fund gain gather generate govern graduate grant guard guide
handle happen help hire honour host house identify implement import improve include increase influence inform
inhabit inherit initiate inspect inspire install interview introduce invade invent invest investigate invite
isolate issue join judge jump kill label land last launch learn lecture lie like line link list live load locate
lower maintain manage manufacture map mark marry match mean measure merge mine model modify monitor moor mount
move name narrate navigate need note number observe obtain occupy occur offer open operate oppose orbit order
organise organize originate oversee own paint participate pass patent perform photograph pioneer place plan
plant play point populate portray possess power practise precede predict premiere prepare present preserve
preside prevent produce promise promote propose protect prove provide publish pump purchase pursue question
raise range rank reach receive recognise recognize recommend record recover reduce refer reflect refuse register
reject relate release relieve remain remember remove rename renovate repair replace report represent request
require rescue research resemble reside resign resolve respond restore result retain retire retrieve return
reveal reverse review revise rotate rout rule sail sample save schedule search secure separate serve settle
shape share shift ship show sign simulate solve span specialise specialize sponsor stage star start state
station stay stop store stretch study submit succeed suffer suggest supervise supply support surround survey
survive suspect switch tend terminate test tour track trade train transfer translate transmit transport travel
treat trigger turn use value view visit vote walk warm warn wash weigh win witness work yield
absorb accelerate access accommodate accumulate acknowledge activate adjust admire adore advance advocate afford
alleviate alter amplify anticipate applaud arrange assess assume assure attain attract automate avoid balance
behave believe benefit boast boost brew broaden captivate categorise categorize cease certify challenge chase
cherish clarify classify coincide combat combine comfort commemorate communicate compel compensate complement
comply compress compute conceive condense confer configure conform confront confuse conserve consume contaminate
contemplate contract contrast convey convince cook cope correlate corrupt craft crave criticise criticize
cultivate cure customise customize decide decorate decrease deepen degrade delegate delight demand demonstrate
deserve destine deteriorate dictate differentiate digest diminish disable disappoint discourage discuss
dismantle dispose disrupt distinguish distribute diversify dominate dream dwell ease educate eliminate embed
embody embrace emerge emit emphasise emphasize empower encounter encourage endanger endure enforce engage
enhance enrich ensure entertain entice eradicate erode erupt evaluate evaporate evoke evolve exacerbate excel
excite exclude execute exemplify exercise exert exhaust experiment exploit expose facilitate fascinate fertilise
fertilize filter flourish fluctuate foster frustrate fulfil fulfill function glow graze harness hatch heal heat
highlight hinder hunt hypothesise illuminate illustrate imagine imitate immerse impact impair imply impose
impress incorporate indicate induce infect inflict inhibit innovate insert instil insulate integrate intensify
interact interfere interpret intrigue involve irritate justify lack lessen leverage lift limit linger manifest
manipulate master mature maximise maximize mediate meditate memorise metamorphose migrate mimic minimise
minimize mitigate mold molt motivate multiply nest neutralise neutralize nurture obsess offset optimise optimize
outweigh overlap overlook override overwhelm owe oxidise penetrate perceive perpetuate persist pertain pollinate
pollute pose practice preach predate prefer prevail proceed process proclaim prohibit project proliferate
prolong prompt propagate prosper provoke purify push quantify react realise realize reap reason recall reckon
reconcile reconnect recruit recycle redefine refine regain regenerate regulate reign reinforce rejuvenate rely
remind render repel replenish replicate reproduce resist restrict resume reuse revitalise revive revolutionise
revolutionize reward ripen roam safeguard scatter sense shelter shield showcase simplify slow soothe spark
specify speculate speed spoil stabilise stabilize stem stimulate strengthen stress struggle subdue substitute
suit summarise summarize suppress surpass sustain symbolise symbolize synthesise synthesize target taste tempt
thrive tolerate touch transcend transform trap treasure unfold unify unite unlock update upgrade urge utilise
utilize vary verify violate waste weaken welcome whisper widen wish wonder worry worship yearn
"""
_IRREGULAR = {
    "become": "became become", "begin": "began begun", "break": "broke broken", "bring": "brought brought",
    "build": "built built", "buy": "bought bought", "catch": "caught caught", "choose": "chose chosen",
    "come": "came come", "cut": "cut cut", "draw": "drew drawn", "drive": "drove driven", "fall": "fell fallen",
    "feed": "fed fed", "feel": "felt felt", "fight": "fought fought", "find": "found found", "fly": "flew flown",
    "get": "got got", "give": "gave given", "go": "went gone", "grow": "grew grown", "hold": "held held",
    "keep": "kept kept", "know": "knew known", "lay": "laid laid", "lead": "led led", "leave": "left left",
    "lend": "lent lent", "lose": "lost lost", "make": "made made", "meet": "met met", "oversee": "oversaw overseen",
    "overtake": "overtook overtaken", "pay": "paid paid", "put": "put put", "read": "read read", "rise": "rose risen",
    "run": "ran run", "say": "said said", "see": "saw seen", "sell": "sold sold", "send": "sent sent",
    "set": "set set", "sing": "sang sung", "sink": "sank sunk", "speak": "spoke spoken", "spend": "spent spent",
    "stand": "stood stood", "take": "took taken", "teach": "taught taught", "tell": "told told",
    "think": "thought thought", "throw": "threw thrown", "wear": "wore worn", "win": "won won",
    "write": "wrote written", "bear": "bore born", "forbid": "forbade forbidden", "shrink": "shrank shrunk",
    "cast": "cast cast", "swim": "swam swum", "ride": "rode ridden", "lie": "lay lain", "freeze": "froze frozen",
    "show": "showed shown", "undergo": "underwent undergone",
    "arise": "arose arisen", "seek": "sought sought", "strive": "strove striven", "overcome": "overcame overcome",
    "uphold": "upheld upheld", "undertake": "undertook undertaken", "withstand": "withstood withstood",
    "spread": "spread spread", "shed": "shed shed", "bite": "bit bitten", "bind": "bound bound", "blow": "blew blown",
    "deal": "dealt dealt", "drink": "drank drunk", "eat": "ate eaten", "forget": "forgot forgotten",
    "forgive": "forgave forgiven", "foresee": "foresaw foreseen", "hide": "hid hidden", "hit": "hit hit",
    "hurt": "hurt hurt", "let": "let let", "shoot": "shot shot", "shut": "shut shut", "sit": "sat sat",
    "sleep": "slept slept", "spin": "spun spun", "steal": "stole stolen", "stick": "stuck stuck",
    "strike": "struck struck", "sweep": "swept swept", "tear": "tore torn", "understand": "understood understood",
    "wake": "woke woken", "weave": "wove woven", "wind": "wound wound", "arouse": "aroused aroused",
    "breed": "bred bred", "cling": "clung clung", "dig": "dug dug", "grind": "ground ground", "mean": "meant meant",
    "rebuild": "rebuilt rebuilt", "outgrow": "outgrew outgrown", "undo": "undid undone", "leap": "leapt leapt",
    "lean": "leaned leaned", "hang": "hung hung", "shine": "shone shone", "split": "split split", "cost": "cost cost",
    "beat": "beat beaten", "bend": "bent bent", "fit": "fit fit", "quit": "quit quit", "rewrite": "rewrote rewritten",
}  # fmt: skip
# Forms that are nouns at least as often as verbs; they count as verbs only if the next word shows it.
AMBIGUOUS = word_set(
    "hand hands lock locks park parks phone phones mail mails book books knock knocks "
    "access accesses advance advances balance balances beat beats bend bends benefit benefits bite bites blow blows "
    "boost boosts brew brews challenge challenges chase chases combat combats comfort comforts compress compresses "
    "contract contracts contrast contrasts cook cooks cost costs craft crafts cure cures deal deals decrease "
    "decreases delight delights demand demands digest digests dream dreams drink drinks ease eases excise excises "
    "exercise exercises experiment experiments filter filters fit fits function functions glow glows heal heals "
    "heat heats highlight highlights hit hits hunt hunts hurt hurts impact impacts lack lacks lean leans leap leaps "
    "lift lifts limit limits master masters mold molds nest nests offset offsets practice practices process "
    "processes project projects prompt prompts push pushes reason reasons recruit recruits reign reigns reward "
    "rewards sense senses shed sheds shelter shelters shield shields showcase showcases sleep sleeps slow slows "
    "spark sparks speed speeds split splits spread spreads stem stems stress stresses strike strikes struggle "
    "struggles suit suits target targets taste tastes tear tears touch touches trap traps treasure treasures update "
    "updates upgrade upgrades urge urges waste wastes welcome welcomes whisper whispers wind winds wish wishes "
    "wonder wonders worries worry worship worships "
    "reports records measures works runs lights ships studies leads houses charts maps names plans plays tests "
    "uses views visits tours tracks trades stages stars states stations stores samples ranges ranks results rules "
    "searches shapes shares shifts signs marks means mines models mounts moves needs notes numbers offers orders "
    "paints places plants points powers questions returns reviews changes charges checks circles claims controls "
    "costs covers crosses damages dates deals designs documents drops ends estimates exchanges exhibits exports "
    "faces features films fires floats flows forces forms fuels funds guards guides hosts issues judges labels "
    "lands lines links lists loads matches values votes walks labels supports supplies surveys transfers "
    "transports turns watches attacks awards boards bases anchors acts report record measure work run light ship "
    "study lead house chart map name plan play test use view visit tour track trade stage star state station "
    "store sample range rank result rule search shape share shift sign mark mine model mount move need note "
    "number offer order paint place plant point power question return review change charge check circle claim "
    "control cost cover cross damage date deal design document drop end estimate exchange exhibit export face "
    "feature film fire float flow force form fuel fund guard guide host issue judge label land line link list "
    "load match value vote walk support supply survey transfer transport turn attack award board base anchor act "
    "like last mean warm cool clear close open lower present separate secure double complete correct set cut fall "
    "rise stand lay saw left felt thought found read lies falls rises stands sets cuts catches drives fights "
    "grows holds help research experience train trains pilot"
)


@dataclass(frozen=True, slots=True)
class VerbForm:
    """Possible forms of one spelling: finite (past or present), participle, -ing form, or the bare verb."""

    base: str
    finite: bool
    participle: bool
    bare: bool
    ambiguous: bool


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    if base in _DOUBLED:
        return base + base[-1] + "ed"
    return base + "ed"


def _third(base: str) -> str:
    if base.endswith(("s", "x", "z", "ch", "sh")) or base == "go":
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


_DOUBLED = word_set(
    "map ship stop drop plan star refer equip transfer transmit submit patrol commit control compel confer excel emit "
    "trap repel"
) - word_set("rout")


def _verb_forms() -> dict[str, VerbForm]:
    forms: dict[str, VerbForm] = {}

    def add(spelling: str, base: str, *, finite: bool, participle: bool, bare: bool) -> None:
        old = forms.get(spelling)
        if old is not None:
            base, finite = old.base, finite or old.finite
            participle, bare = participle or old.participle, bare or old.bare
        forms[spelling] = VerbForm(base, finite, participle, bare, spelling in AMBIGUOUS)

    for base in dict.fromkeys([*_REGULAR.split(), *_IRREGULAR]):
        past, participle = _IRREGULAR[base].split() if base in _IRREGULAR else (_past(base), _past(base))
        add(past, base, finite=True, participle=False, bare=False)
        add(participle, base, finite=past == participle, participle=True, bare=False)
        add(_third(base), base, finite=True, participle=False, bare=False)
        add(base, base, finite=False, participle=False, bare=True)
    return forms


VERBS = _verb_forms()
