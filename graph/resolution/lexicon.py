"""The resolver's lexicon: small curated tables of words, English first.

It is data, not a gazetteer or a model: a word in no table is treated as a name. All entries are folded words as
`label_features.py` makes them (lower case, no accents, singular). A comment gives each table's purpose; a word may be
in several tables. Invariant: no table depends on the graph.
"""

from __future__ import annotations


def _split(*lines: str) -> list[str]:
    return " ".join(lines).split()


# Words that only look like plurals, most of them family names.
FALSE_PLURALS = frozenset(
    _split(
        "williams roberts edwards stevens adams phillips hughes collins harris jones davis davies evans lewis james",
        "thomas charles nicholas francis dennis chris hans jess texas kansas arkansas illinois massachusetts paris",
        "athens brussels naples wales mars venus jesus olympics news series species always perhaps simmons parsons",
        "richards matthews peters myers rogers watkins hopkins jenkins andrews marcus louis",
    )
)


def singular(word: str) -> str:
    """Return the word without a plural ending. Cost: constant."""
    if len(word) < 4 or word[-1] != "s" or word in FALSE_PLURALS or word[-2:] in ("ss", "us", "is"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "ches", "shes")) else word[:-1]


def _words(text: str) -> frozenset[str]:
    return frozenset(map(singular, _split(text)))


def _pairs(text: str) -> dict[str, str]:
    """Parse "a=b c=d" into a mapping; "_" in a value represents a space."""
    return {
        left: " ".join(map(singular, right.split("_"))) for left, right in (entry.split("=") for entry in _split(text))
    }


# Words that carry no identity of their own.
STOP = _words("the a an of and et und")

# Labels that refer to an earlier mention and never name one thing: they match no label.
PRONOUNS = _words(
    "i me my mine we our ours you your yours he him his she her hers it its they them their theirs who whom whose "
    "this that these those here there someone something anyone everyone everybody everything "
    "nothing none other another each both all some many most few one such same former latter unknown n/a"
) | {"somebody", "anybody", "nobody"}
GENERIC_NOUNS = _words(
    "city town village place area region country state nation county district province capital river lake mountain "
    "island film movie show series episode song single album track band group artist singer actor actress director "
    "author writer book novel play game team club league season player coach company firm organization organisation "
    "agency school college university building house church airport station road street bridge king queen president "
    "minister government party member leader man woman men women boy girl person people family father mother son "
    "daughter brother sister wife husband child parent friend war battle treaty law act court case report study paper "
    "article magazine journal newspaper website project program event award title name thing year month week day time "
    "date century decade number population language religion"
)
# Institutions that every country has: together with a country the label names one thing, alone it does not.
INSTITUTIONS = _words(
    "senate congress parliament constitution government army navy cabinet president minister ministry court police "
    "independence house assembly declaration supreme representative senator governor treasury crown"
)

TITLES = _words(
    "mr mrs ms miss dr doctor prof professor sir dame lord lady rev reverend fr father sister saint president prime "
    "minister king queen prince princess emperor empress duke duchess count countess baron pope cardinal archbishop "
    "bishop general gen colonel col major captain capt lieutenant lt sergeant sgt admiral commander judge justice "
    "senator governor chancellor chairman sheikh imam rabbi"
)
PLAIN_TITLES = _words("mr mrs ms miss")  # used with a whole family's name
SUFFIXES = _pairs("jr=junior junior=junior sr=senior senior=senior")
PARTICLES = _words("van von der den de del della di da du la le el al bin ibn ben dos san ter ten zu af av")

# One spelling for words that have several. Applied to single words.
VARIANTS = _pairs(
    "st=saint ste=saint mt=mount ft=fort corp=corporation inc=incorporated ltd=limited co=company bros=brother "
    "univ=university dept=department intl=international natl=national govt=government assn=association "
    "labor=labour centre=center theater=theatre color=colour organisation=organization programme=program "
    "defence=defense honor=honour harbor=harbour historical=historic western=west eastern=east northern=north "
    "southern=south meter=metre kilometer=kilometre km=kilometre m=metre liter=litre gray=grey catalog=catalogue "
    "botanical=botanic sulfur=sulphur aluminum=aluminium muhammad=mohammed mohammad=mohammed muhammed=mohammed "
    "mohamed=mohammed vs=versus no=number abdul=abdel abdal=abdel"
)
NUMBER_WORDS = _pairs(
    "zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 thirteen=13 "
    "fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20"
)
ORDINAL_WORDS = _pairs(
    "first=1st second=2nd third=3rd fourth=4th fifth=5th sixth=6th seventh=7th eighth=8th ninth=9th tenth=10th "
    "eleventh=11th twelfth=12th"
)
# A first word "xi" or "vi" is a name unless one of these follows.
COUNTED_NOUNS = _words("olympiad olympic legislature congress corps army dynasty games winter summer")
MONTHS = _words(
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec"
)
DATE_WORDS = _words(
    "early late mid end beginning century decade bc ad bce ce spring summer autumn fall winter monday tuesday "
    "wednesday thursday friday saturday sunday to until from in on since about circa"
)

# Abbreviations so common that every reader expands them; those in DOTTED_ALIASES only when written with dots or alone.
ALIASES = _pairs(
    "us=united_states usa=united_states uk=united_kingdom ussr=soviet_union uae=united_arab_emirate nyc=new_york_city "
    "prc=people_republic_china olympics=olympic_game"
)
DOTTED_ALIASES = _pairs("un=united_nation eu=european_union")
PHRASES = {
    ("united", "state", "america"): ("united", "state"),
    ("pr", "china"): ("people", "republic", "china"),
    ("2nd", "world", "war"): ("world", "war", "2"),
    ("1st", "world", "war"): ("world", "war", "1"),
    ("american", "indian"): ("native", "american"),
}
# Abbreviations of one well-known thing: other words with the same initials do not match.
KNOWN_ACRONYMS = _pairs(
    "nba=national_basketball_association nfl=national_football_league nhl=national_hockey_league "
    "mlb=major_league_baseball fbi=federal_bureau_investigation cia=central_intelligence_agency "
    "nasa=national_aeronautic_space_administration nato=north_atlantic_treaty_organization "
    "imf=international_monetary_fund bbc=british_broadcasting_corporation gdp=gross_domestic_product "
    "faa=federal_aviation_administration fcc=federal_communication_commission epa=environmental_protection_agency "
    "mit=massachusett_institute_technology dvd=digital_versatile_disc usa=united_state ussr=soviet_union "
    "ibm=international_business_machine ioc=international_olympic_committee "
    "tnt=trinitrotoluene vhs=video_home_system un=united_nation eu=european_union"
)
# Words and names that are read as words, never as initials.
SHORT_WORDS = _words(
    "war car sea bar art air man son sun sky ice oil gas law tax map bus cat dog cow pig boy god sin sex age day bay "
    "king duke earl pope lake hill hall park bank book film game song army navy iron gold star moon mars rome iran "
    "iraq cuba peru mali chad oman fiji sam tom tim ben dan max ray roy leo eli han lee kim ali ian amy ann eva ada"
)
US_STATES = _pairs(
    "ga=georgia nh=new_hampshire ny=new_york nj=new_jersey tx=texas fl=florida nc=north_carolina sc=south_carolina "
    "tn=tennessee ky=kentucky va=virginia wv=west_virginia md=maryland ct=connecticut ri=rhode_island vt=vermont "
    "mi=michigan wi=wisconsin mn=minnesota mo=missouri ks=kansas nd=north_dakota sd=south_dakota ne=nebraska "
    "mt=montana wy=wyoming nv=nevada ut=utah az=arizona nm=new_mexico ca=california wa=washington ak=alaska "
    "il=illinois ia=iowa ar=arkansas ms=mississippi"
)
REGIONS = _words(
    "canada mexico england scotland wales ireland france germany spain italy portugal greece "
    "russia china japan india pakistan australia brazil argentina chile peru poland sweden norway denmark finland "
    "netherland belgium austria switzerland turkey egypt nigeria kenya israel iran iraq ukraine romania bulgaria "
    "hungary cuba colombia venezuela philippine indonesia malaysia thailand vietnam usa uk alabama alaska arizona "
    "arkansas california colorado connecticut delaware florida georgia hawaii idaho illinois indiana iowa kansas "
    "kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana nebraska nevada "
    "ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia wisconsin wyoming ontario quebec manitoba"
)

# Countries that share their short name with another: "Republic of" distinguishes them.
TWIN_COUNTRIES = _words("congo china korea ireland macedonia vietnam yemen guinea sudan")
# State codes that are not words or initials of another thing.
PLAIN_STATE_CODES = _words("ga nh ny nj tx fl nc tn ky va wv vt wi mn nd sd wy nv nm il")

# Words that distinguish two things of one name: both sides must have the same ones.
QUALIFIERS = _words(
    "north south east west northeast northwest southeast southwest central inner outer upper lower new old great "
    "greater little late early mid middle former ancient modern men women man woman male female boy girl "
    "junior senior deputy vice assistant acting democratic people federal socialist communist islamic royal imperial "
    "asian african european american british french german australian methodist "
    "united unofficial anti non pro"
)
# After these, "united" is part of a name.
UNITED = (("state",), ("kingdom",), ("nation",), ("arab",))
COUNTRY_STARTS = (("united", "state"), ("united", "kingdom"))
# Members of one group exclude each other if both sides contain one.
EXCLUSIVE = tuple(
    _words(group)
    for group in (
        "album song single film novel book play opera musical soundtrack game show poem",
        "men women boy girl male female",
        "summer winter spring autumn",
        "president minister ministry king queen senator senate governor prince princess",
        "university college school",
        "city county province river lake",
        "monday tuesday wednesday thursday friday saturday sunday",
        "gold silver bronze",
        "actor actress director",
    )
)
# A further word of this kind names a part, a member or a neighbour of the thing, not the thing.
PARTS = _words(
    "city town village county district province region state republic kingdom colony territory river lake bay valley "
    "hill island beach park street road avenue lane square garden house hall building court courthouse center station "
    "airport authority agency agent office department board committee council commission member leader school "
    "college university museum gallery church cathedral chapel diocese parish hospital library monument memorial "
    "watershed tributary section part body head population language culture protest war battle championship award "
    "nomination winner season episode sequel express sport news record company holding foundation fund act law treaty "
    "trailer website extreme adventure dawn studio debut series economy history government party election metropolitan "
    "service system event style charts agent legend oral virgin candidate group movement "
    "area book film site mystery program project climate ideology metro degree doctrine creation industry member"
)
# A further word of this kind adds no information about the thing.
EMPTY = _words(
    "incorporated limited corporation company llc plc gmbh aircraft airplane team band ocean institution bomber online "
    "indian"
)
# Buildings that have a name of their own, so that the city before it adds nothing.
FACILITIES = _words("airport station cathedral stadium aerodrome")
# Adjectives that rarely distinguish two things of one name.
SOFT = _words("national regional international metropolitan official")
# Endings that names of persons do not have.
WORD_ENDINGS = ("tion", "sion", "ity", "ism", "ment", "ness", "ical", "ious", "able", "ology", "graphy", "ship", "ic")
# Words that occur in no person's name, besides the tables above.
NOT_NAMES = _words(
    "airlines airway bank league club united international association organization society union institute academy "
    "olympic olympiad game cup stadium mound route highway line railway railroad mission force police museum "
    "coast ocean sea mountain range mount fort port cape forest desert series festival prize medal album song theory "
    "language empire dynasty age century reformation revolution declaration independence constitution senate congress "
    "parliament court census bureau landmark register place overseas technology science engineering botanic garten "
    "tunnel canal dam bridge tower wall treaty conference protocol minister president governor leader opposition "
    "broadcasting network radio television channel studio records music band orchestra choir press publishing "
    "comedy drama thriller journal academic coffee currency snowfall broadcast congregation casino hotel hockey "
    "catholic religious christian italian greek roman student worker people degree basin burial rate total rock pop "
    "metal jazz "
    "for in on at by to with from as its his her their or than not into over under between within during after before"
)

# Short forms of given names.
NICKNAMES = _pairs(
    "ben=benjamin dick=richard rick=richard rich=richard hans=johannes bob=robert rob=robert bobby=robert "
    "bill=william will=william billy=william jim=james jimmy=james tom=thomas tommy=thomas mike=michael mick=michael "
    "joe=joseph joey=joseph dave=david dan=daniel danny=daniel sam=samuel steve=steven stephen=steven "
    "chris=christopher tony=anthony ed=edward eddie=edward ted=edward ned=edward fred=frederick freddie=frederick "
    "alex=alexander "
    "sandy=alexander andy=andrew drew=andrew nick=nicholas pete=peter phil=philip greg=gregory jeff=jeffrey "
    "geoff=geoffrey ken=kenneth larry=lawrence matt=matthew max=maximilian nate=nathaniel pat=patrick ray=raymond "
    "ron=ronald russ=russell tim=timothy vince=vincent walt=walter zach=zachary zack=zachary jack=john johnny=john "
    "charlie=charles chuck=charles harry=henry hank=henry liz=elizabeth beth=elizabeth betty=elizabeth kate=katherine "
    "kathy=katherine katie=katherine maggie=margaret meg=margaret peggy=margaret sue=susan jenny=jennifer jen=jennifer "
    "becky=rebecca debbie=deborah abby=abigail cathy=catherine val=valene vicky=victoria"
)
PLACE_STARTS = _words("st saint san santa santo real fort mount mt cape")  # first words of places and clubs
# Given and family names so frequent that the two together do not identify one person.
COMMON_GIVEN = _words(
    "john james william george charles henry joseph thomas robert david michael richard paul peter mary elizabeth anna "
    "edward samuel daniel alfred walter frank jose juan luis carlos wei li mohammed ahmed ivan"
)
COMMON_FAMILY = _words(
    "smith jones taylor williams brown davies davis wilson johnson miller moore anderson jackson white harris martin "
    "thompson thomas evans roberts walker wright robinson green hall clark lewis lee young king hill scott adams baker "
    "armstrong campbell mitchell garcia rodriguez martinez gonzalez lopez wang li zhang chen kim khan singh ivanov"
)
