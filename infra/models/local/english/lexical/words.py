"""Word lists of the offline extractor: closed classes, cue words for types.

Data, not logic. Everything is lower case. A missing word costs recall, never correctness.
"""

from graphtide.graph.resolution.given_names import GIVEN_NAMES


def word_set(words: str) -> frozenset[str]:
    """Return the words of a list that is written as one text."""
    return frozenset(words.split())


DETERMINERS = word_set("a an the this that these those each every another any some no both all several many most few")
POSSESSIVES = word_set("its his her their our my your")
PERSON_PRONOUNS = word_set("he she")
THING_PRONOUNS = word_set("it")
OTHER_PRONOUNS = word_set("they we you i them him us me himself herself itself themselves there what one")
RELATIVES = word_set("who which that whom whose where when")
CONJUNCTIONS = word_set("and or but nor yet")
SUBORDINATORS = word_set(
    "because although though while if unless whereas whether than as so once since until after before when where "
    "how why"
)
PREPOSITIONS = word_set(
    "in on at by for from to of with near into onto over under between among during since until after before "
    "through throughout across along against around behind beside beneath below above beyond within without as "
    "about toward towards upon via off inside outside aboard alongside despite per like including"
)
AUXILIARIES = word_set(
    "is are was were be been being has have had do does did will would can could may might must shall should"
)
BE = word_set("is are was were be been being became remains remained becomes become")
NEGATIONS = word_set("not never")
ADVERBS = word_set(
    "also then now later soon still already once twice again often always usually sometimes only just almost "
    "nearly about roughly first finally eventually originally initially formerly currently together alone away "
    "back even however therefore moreover meanwhile thus hence instead today yesterday tomorrow very too there "
    "here ever yet long much more most less least quite rather perhaps down up out well"
)
# Nouns and adjectives that only look like adverbs.
LY_NOUNS = word_set(
    "family assembly supply reply butterfly fly ally anomaly monopoly daily weekly monthly yearly friendly likely "
    "early elderly lively lovely lonely orderly costly hourly quarterly italy july"
)
TIMES = word_set("then now today yesterday tomorrow here there")
# Words that open a sentence with a capital and are not names.
OPENERS = (
    DETERMINERS | POSSESSIVES | PERSON_PRONOUNS | THING_PRONOUNS | OTHER_PRONOUNS | RELATIVES | CONJUNCTIONS
    | SUBORDINATORS | PREPOSITIONS | AUXILIARIES | ADVERBS
    | word_set("according such other others his hers following given due her two three four five six seven eight nine "
           "ten new old early late next last today see note chapter section figure table part yes no please")
)  # fmt: skip
NUMBER_WORDS = word_set(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion "
    "dozen half"
)

HONORIFICS = word_set(
    "mr mrs ms miss dr prof professor sir dame lord lady captain capt colonel col general gen major lieutenant lt "
    "commander admiral sergeant sgt king queen prince princess pope saint st president chancellor minister senator "
    "judge father sister brother engineer"
)
ABBREVIATIONS = HONORIFICS | word_set(
    "jr sr vs eg ie cf approx ca nos vol eds al inc ltd co corp dept est mt ft jan feb mar apr jun jul aug sep sept "
    "oct nov dec rev hon gov sen rep univ pp p ch tel fax e.g i.e incl excl resp esp orig cont avg bldg acct addr attn "
    "viz assoc asst intl natl govt mfr qty"
)
"""Words that something follows: no sentence ends with their full stop."""
BEFORE_NUMBERS = word_set("rm apt max min no fig figs ed sec ext art para")
"""Abbreviations of words that numbers and letters follow: "Rm. 4B", "max. 6 bar", "fig. B". Most are words, too, and
end a sentence before any other one: "The answer is no. Ana asked twice."
"""
BEFORE_LETTERS = word_set(
    "figure room building hall wing gate bay platform terminal zone ward class grade group band level category type "
    "option plan model version annex appendix exhibit section part schedule table column vitamin hepatitis"
)
"""Words that a letter follows as a number does: "plan B", "appendix A". A full stop after it ends a sentence."""
DAY_HALVES = word_set("a.m p.m")
NAME_PARTICLES = word_set("de la le du van von der den di da del della dos el al bin ibn af av ter zu y")

ORGANISATION_CUES = word_set(
    "institute institution university college school academy society association agency administration ministry "
    "department bureau office council committee commission company corporation corp inc ltd llc gmbh plc bank "
    "board foundation trust laboratory laboratories observatory museum library union league party group "
    "consortium authority court parliament congress senate navy army force forces police church club team press "
    "publishers publishing hospital survey service programme program network federation federal organisation "
    "organization division battalion regiment orchestra band airlines airways motors industries systems studios "
    "records media shipyard yard works cooperative centre center directorate embassy government"
)
PLACE_CUES = word_set(
    "island islands isle bay lake river sea ocean mount mountain mountains hill hills valley strait channel gulf "
    "cape peninsula glacier ridge trench harbour harbor port point coast beach desert forest park county province "
    "state states city town village district region republic kingdom street avenue road square bridge canal "
    "plateau basin reef shelf fjord sound inlet creek falls station airport castle palace hut base camp north "
    "south east west territory archipelago atoll crater field plain spring springs bank pole passage lagoon quay "
    "pier pond meadow hollow creek estate farm orchard marsh moor woods grove"
) - word_set("bank spring field sound")
WORK_CUES = word_set(
    "report atlas journal treaty act law catalogue catalog chronicle gazette review times post handbook manual "
    "encyclopedia encyclopaedia dictionary bible charter constitution declaration novel symphony letters logbook "
    "diary bulletin proceedings transactions protocol accord accords agreement map song album film magazine "
    "newspaper"
)
PLACES = word_set(
    "afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahrain bangladesh "
    "belarus belgium belize benin bhutan bolivia botswana brazil brunei bulgaria burundi cambodia cameroon canada "
    "chad chile china colombia congo croatia cuba cyprus denmark ecuador egypt eritrea estonia ethiopia fiji "
    "finland france gabon gambia germany ghana greece greenland grenada guatemala guinea guyana haiti honduras "
    "hungary iceland india indonesia iran iraq ireland israel italy jamaica japan kazakhstan kenya kosovo kuwait "
    "laos latvia lebanon lesotho liberia libya lithuania luxembourg madagascar malawi malaysia maldives mali "
    "malta mexico moldova monaco mongolia montenegro morocco mozambique myanmar namibia nepal netherlands "
    "nicaragua niger nigeria norway oman pakistan palestine panama paraguay peru philippines poland portugal "
    "qatar romania russia rwanda scotland senegal serbia singapore slovakia slovenia somalia spain sudan suriname "
    "sweden switzerland syria taiwan tajikistan tanzania thailand togo tonga tunisia turkey uganda ukraine "
    "uruguay uzbekistan vanuatu venezuela vietnam wales yemen zambia zimbabwe england britain africa europe asia "
    "antarctica america oceania arctic antarctic atlantic pacific mediterranean london paris berlin madrid rome "
    "vienna oslo bergen stockholm copenhagen helsinki reykjavik dublin edinburgh glasgow lisbon athens moscow "
    "beijing shanghai tokyo delhi mumbai cairo lagos nairobi sydney melbourne toronto montreal chicago boston "
    "california texas florida amsterdam brussels zurich geneva hamburg munich prague warsaw budapest istanbul "
    "jerusalem dubai seoul bangkok jakarta manila tromsø svalbard hobart ushuaia santiago"
)
WEEKDAYS = word_set(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun mondays "
    "tuesdays wednesdays thursdays fridays saturdays sundays"
)
# Names of columns and labels that tell the type of their values.
KEYS_OF_PERSONS = word_set(
    "person author contact attendees present excused host speaker lead assignee reviewer member members volunteer "
    "volunteers colleague"
)
KEYS_OF_PLACES = word_set("place town city country location site where room region address venue")
KEYS_OF_ORGANISATIONS = word_set("company organisation organization supplier vendor team department employer")
# Verbs whose subject is a person.
PERSON_VERBS = word_set("born died married retired speaks spoke graduated studied lives lived resigned says said wrote")
FIRST_NAMES = GIVEN_NAMES
PLACE_NAMES = word_set("united states")  # two-word names that no cue word marks
NATIONALITIES = word_set(
    "american british english scottish welsh irish french german italian spanish portuguese dutch belgian swiss "
    "austrian danish norwegian swedish finnish icelandic polish czech hungarian romanian bulgarian greek turkish "
    "russian soviet ukrainian chinese japanese korean indian pakistani iranian iraqi israeli arab egyptian "
    "african nigerian kenyan australian canadian mexican brazilian argentine chilean european asian antarctic "
    "arctic roman christian catholic protestant jewish muslim islamic latin"
)
CALENDAR = word_set(
    "january february march april may june july august september october november december monday tuesday "
    "wednesday thursday friday saturday sunday spring summer autumn winter"
)
ROLES = word_set(
    "director captain leader head chief founder president chairman chairwoman chair secretary treasurer manager "
    "editor engineer physicist chemist biologist geologist glaciologist oceanographer astronomer meteorologist "
    "scientist mathematician historian explorer navigator pilot architect author writer novelist poet composer "
    "singer actor actress painter artist photographer designer inventor professor teacher student doctor "
    "physician nurse surgeon cook mechanic technician operator keeper curator owner commander officer sailor "
    "diver surveyor cartographer minister king queen emperor mayor governor senator judge lawyer soldier "
    "journalist economist philosopher botanist zoologist seismologist hydrologist programmer researcher successor "
    "predecessor deputy wife husband son daughter brother sister mother father colleague assistant skipper mate "
    "bassist guitarist drummer songwriter"
)
UNITS = (
    r"%|percent|per cent|°\s?[CF]|degrees?(?: (?:Celsius|Fahrenheit|north|south|east|west))?|"
    r"kilomet(?:re|er)s?|met(?:re|er)s?|centimet(?:re|er)s?|millimet(?:re|er)s?|km²?|cm|mm|nm|m|miles?|feet|foot|inch(?:es)?|"
    r"hectares?|acres?|square (?:kilomet(?:re|er)s?|met(?:re|er)s?|miles?)|cubic met(?:re|er)s?|"
    r"kilograms?|grams?|tonnes?|tons?|kg|mg|g|pounds?|litres?|liters?|"
    r"(?:kilo|mega|giga)?watts?|kW|MW|GW|volts?|(?:kilo|mega|giga)?hertz|Hz|kHz|MHz|GHz|(?:kilo|mega|giga|tera)bytes?|[kMGTP]i?B|"
    r"seconds?|minutes?|hours?|days?|weeks?|months?|years?|knots?|atmospheres?|bar|kelvin|K|"
    r"people|inhabitants|students|employees|members|euros?|dollars?|kronor|kroner|crowns"
)
DIMENSION_NOUNS = {
    "long": "length", "tall": "height", "high": "height", "deep": "depth", "wide": "width", "thick": "thickness",
    "old": "age", "heavy": "weight",
}  # fmt: skip
# Heads of names that "of" continues: "University of Oslo", "Battle of Hastings".
OF_HEADS = (
    ORGANISATION_CUES
    | PLACE_CUES
    | WORK_CUES
    | word_set(
        "battle siege treaty duke duchess earl lord archbishop bishop age order isle house war university book kingdom "
        "union history theory law sea gulf bay cape head tower"
    )
)
# Common nouns that often open a sentence without an article, so with a capital that has no meaning.
MASS_NOUNS = word_set(
    "ice water research work construction power life time money snow wind weather rain oil gas food music science "
    "history people children men women evidence access most more less much many data funding nothing everything "
    "someone everyone anyone nobody none production communication scientists engineers"
)
# The openers that a name or a noun phrase may begin with: "New Haven", "the first ship".
PLAIN_ADJECTIVES = word_set("new old early late next last first young several most own other")
