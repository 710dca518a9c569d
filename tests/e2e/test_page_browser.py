"""The page in Chromium against a service: what a user does on each screen, and what documents must not do there.

All tests share one browser and one service, whose keys are in a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.support.chromium import chromium, chromium_path
from tests.support.guarded import KeyFile
from tests.support.maven import Unavailable
from tests.support.node import package_file
from tests.support.page_client import PageUser, page_user
from tests.support.ports import free_port
from tests.support.processes import Service, start_service

GRAPH = "harbour"
SAMPLE = {
    "meridian": "Rosa Delgado is the captain of Meridian. Meridian is a ship of the Tessaly Polar Institute.",
    "station": "The research vessel Meridian supplies Kittiwake Station. Ida Moreau founded Kittiwake Station in 1961.",
    "ida": "Ida Moreau was a glaciologist. Ida Moreau mapped Merrow Glacier. Ida Moreau taught Tor Ruud.",
    "tor": "Tor Ruud leads the Petrel Network. The Petrel Network measures Merrow Glacier.",
}
SCRIPT = '<img src=x onerror="window.attacked=1"><script>window.attacked=1</script>'
LINES = "cell => { const r = document.createRange(); r.selectNodeContents(cell); return r.getClientRects().length; }"
HOSTILE = f'"><b>{SCRIPT}'


@dataclass(slots=True)
class House:
    """The service of this file: `restart` starts it again on the same port."""

    data: Path
    port: int
    settings: dict[str, str]
    key: str
    service: Service

    @property
    def url(self) -> str:
        return self.service.url

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=f"{self.url}/v1/graphs/", headers={"x-api-key": self.key}, timeout=120)

    def publish(self, graph: str, *documents: Mapping[str, object]) -> None:
        """Publish documents and wait until the graph includes them."""
        with self.client() as http:
            token = http.post(f"{graph}/documents", json=list(documents)).raise_for_status().json()["token"]
            while not http.get(f"{graph}/tokens/{token}", params={"wait_s": 30}).json().get("reached"):
                pass

    def restart(self) -> None:
        self.service = start_service(self.data, self.settings, self.data.parent / "service.log", self.port)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    keys = KeyFile(folder / "keys.toml")
    key = keys.add("page", "*", "read write metrics")
    settings, port = {"GRAPHTIDE_API_KEYS_FILE": str(keys.path)}, free_port()
    service = start_service(folder / "data", settings, folder / "service.log", port)
    house = House(folder / "data", port, settings, key, service)
    try:
        house.publish(GRAPH, *({"id": name, "text": text, "title": name.title()} for name, text in SAMPLE.items()))
        yield house
    finally:
        if house.service.process.poll() is None:
            house.service.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    try:
        chromium_path()
    except Unavailable as missing:
        pytest.skip(str(missing))
    with chromium() as browser:
        yield browser


@pytest.fixture
def user(browser: Browser, house: House) -> Iterator[PageUser]:
    """Yield a user who is signed in; afterwards no script failed and nothing violated the policy."""
    with page_user(browser, house.url) as user:
        user.sign_in(house.key)
        yield user
        assert (user.problems, user.violations()) == ([], [])
        assert not any(house.key in address for address in user.addresses)
        assert {httpx.URL(address).host for address in user.addresses} == {"127.0.0.1"}


def test_wrong_key_is_refused_with_the_reason_and_the_right_one_lasts_for_the_tab(
    browser: Browser, house: House
) -> None:
    """The key is in no address; a reload keeps it, signing out forgets it."""
    with page_user(browser, house.url) as user:
        page = user.page
        page.goto(user.url)
        page.get_by_label("API key or token").fill("wrong-key")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("The credential was refused: the credential is not valid")
        user.sign_in(house.key)
        expect(page.get_by_role("heading", name="Ask", level=1)).to_be_visible()
        user.open(GRAPH, "documents", "tor")
        page.reload()
        expect(page.get_by_role("heading", name="Tor", level=1)).to_be_visible()
        assert house.key not in page.url and not any(house.key in address for address in user.addresses)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("API key or token")).to_be_visible()
        assert page.evaluate("sessionStorage.length + localStorage.length + document.cookie.length") == 0


def test_link_that_is_followed_while_the_page_opens_its_first_graph_is_kept(browser: Browser, house: House) -> None:
    """Without a graph in its address the page opens the first one, unless the user has chosen meanwhile.

    The browser reports a new address in an event of its own, which may come late: here it never comes.
    """
    with page_user(browser, house.url) as user:
        user.page.add_init_script("addEventListener('hashchange', (event) => event.stopImmediatePropagation())")
        user.page.goto(user.url)
        user.page.evaluate(
            """(address) => new MutationObserver((_, observer) => {
              if (!document.querySelector(".graph-choice")) return;
              observer.disconnect();
              location.hash = address;
            }).observe(document.body, { childList: true, subtree: true })""",
            f"#/{GRAPH}/documents",
        )
        user.page.get_by_label("API key or token").fill(house.key)
        user.page.get_by_role("button", name="Sign in").click()
        expect(user.page.get_by_role("heading", name="Documents", level=1)).to_be_visible()


def test_published_file_is_asked_and_its_citation_opens_the_marked_sentence(user: PageUser, tmp_path: Path) -> None:
    """From a file to an answer: publish, ask, open the citation, open the document."""
    page = user.page
    file = tmp_path / "lighthouse-log.md"
    file.write_text(
        "# Lighthouse 🚢\n\nThe lamp was cleaned. Solveig Berg keeps the lighthouse of Cape Thorn. It rained.\n"
    )
    user.open(GRAPH, "documents")
    page.get_by_label("Files to publish").set_input_files([file])
    expect(page.get_by_text("1 document in the graph.").first).to_be_visible()
    expect(page.get_by_role("link", name="lighthouse log")).to_be_visible()
    user.open(GRAPH, "ask")
    user.ask("Who keeps the lighthouse of Cape Thorn?")
    expect(page.locator(".answer-text")).to_contain_text("Solveig Berg")
    page.get_by_role("button", name="Source 1").first.click()
    expect(page.locator("mark")).to_have_text("Solveig Berg keeps the lighthouse of Cape Thorn.")
    page.get_by_role("link", name="Open the document").first.click()
    expect(page.get_by_role("heading", name="lighthouse log", level=1)).to_be_focused()
    expect(page.locator(".document-text mark")).to_have_text("Solveig Berg keeps the lighthouse of Cape Thorn.")


def test_dropped_files_are_published_and_refused_ones_are_named(user: PageUser) -> None:
    """A drop is a publication; names of files are text."""
    page = user.page
    user.open(GRAPH, "documents")
    name = "<img src=x onerror=window.attacked=1>.txt"
    transfer = page.evaluate_handle(
        """(name) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File(["The quay of Port Amsel is 300 metres long."], name));
          transfer.items.add(new File(["%PDF-1.7"], "plan.pdf"));
          return transfer;
        }""",
        name,
    )
    page.locator(".drop").dispatch_event("drop", {"dataTransfer": transfer})
    expect(page.get_by_text("1 document in the graph.").first).to_be_visible()
    expect(page.locator(".publish-progress")).to_contain_text("plan.pdf: .pdf files need conversion")
    page.get_by_label("Id begins with").fill("<img")
    expect(page.locator("td .id")).to_have_count(1)
    expect(page.locator("td .id")).to_have_text(name)
    assert page.evaluate("window.attacked") is None


def test_answer_changes_with_the_document_that_it_cites(user: PageUser, house: House) -> None:
    """An edit on the page, then one by another client: the answer follows, and the earlier one can be seen."""
    page = user.page
    user.open(GRAPH, "ask")
    user.ask("Who is the captain of Meridian?")
    expect(page.locator(".answer-text").first).to_contain_text("Rosa Delgado")
    user.open(GRAPH, "documents", "meridian")
    page.get_by_role("button", name="Edit").click()
    editor = page.get_by_label("Text", exact=True)
    expect(editor).to_have_value(SAMPLE["meridian"])
    editor.fill(SAMPLE["meridian"].replace("Rosa Delgado", "Viktor Hale"))
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".document-text")).to_contain_text("Viktor Hale")
    user.open(GRAPH, "ask")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".answer-text").first).to_contain_text("Viktor Hale")
    page.get_by_text("The answer changed", exact=True).click()
    expect(page.locator(".before")).to_contain_text("Rosa Delgado")
    page.get_by_label("Keep current").check()
    text = SAMPLE["meridian"].replace("Rosa Delgado", "Marta Lindqvist")
    house.publish(GRAPH, {"id": "meridian", "text": text, "title": "Meridian"})
    expect(page.locator(".answer-text").first).to_contain_text("Marta Lindqvist")


def test_node_is_expanded_by_click_and_by_keyboard(user: PageUser) -> None:
    """Neighbours join the drawing; the trussness filter and the list follow."""
    page = user.page
    user.open(GRAPH, "entities")
    page.get_by_label("Name contains").fill("Petrel")
    page.get_by_role("link", name="Petrel Network").click()
    expect(page.get_by_role("heading", name="Petrel Network", level=1)).to_be_visible()
    expect(page.locator("#relations")).to_contain_text("Strongest relations")
    expect(page.locator(".sources")).to_contain_text("Tor Ruud")
    page.get_by_role("link", name="Show in the graph").click()
    shown = page.locator("[data-nodes]")
    settled = page.locator(".canvas[data-settled=true]")
    expect(settled).to_be_visible()
    first = int(shown.get_attribute("data-nodes") or 0)
    assert first > 2
    page.get_by_label("Name contains").fill("Ida")
    page.get_by_role("button", name="Show Ida Moreau").click()
    expect(page.get_by_role("heading", name="Ida Moreau", level=2)).to_be_visible()
    page.get_by_role("button", name="Expand Ida Moreau").focus()
    page.keyboard.press("Enter")
    expect(shown).not_to_have_attribute("data-nodes", str(first))
    expect(settled).to_be_visible()
    before = shown.get_attribute("data-nodes")
    page.get_by_label("Name contains").fill("Kittiwake")
    page.get_by_role("button", name="Show Kittiwake Station").click()
    page.locator(".canvas[data-centred=true]").click()
    expect(page.locator(".canvas")).to_have_attribute("data-clicked", re.compile(".+"))
    expect(shown).not_to_have_attribute("data-nodes", str(before))
    page.get_by_label(re.compile("Trussness")).fill("3")
    expect(page.get_by_text("Trussness at least 3")).to_be_visible()


def test_live_screen_follows_documents_as_they_arrive(user: PageUser, house: House) -> None:
    """Counters change without a reload, and each commit is listed with what it changed."""
    page = user.page
    user.open(GRAPH, "live")
    documents = page.locator(".counters div", has_text="Documents").locator("dd")
    expect(documents).to_have_text(re.compile(r"\d"))
    before = int(documents.inner_text())
    house.publish(GRAPH, {"id": "live-1", "text": "Skua Hut has four beds."}, {"id": "live-2", "text": "It is warm."})
    expect(documents).to_have_text(str(before + 2))
    change = page.locator(".feed > li", has=page.get_by_role("link", name="live-1", exact=True))
    expect(change).to_have_count(1)
    change.locator("summary").click()
    expect(change.locator(".statements")).to_contain_text("Skua Hut has four beds")


def test_standing_question_reports_the_change_with_its_cause(user: PageUser, house: House) -> None:
    """A registered question shows an event, without a reload, once a document changes its evidence."""
    page = user.page
    user.open(GRAPH, "live")
    page.get_by_label("Report when the evidence changes for").fill("Who repaired the beacon of Cape Thorn?")
    page.get_by_role("button", name="Register").click()
    row = page.locator(".standing > li", has_text="Who repaired the beacon of Cape Thorn?")
    expect(row).to_contain_text("The same since version")
    house.publish(GRAPH, {"id": "beacon", "text": "Anton Reyes repaired the beacon of Cape Thorn.", "title": "Beacon"})
    event = row.locator(".feed li").first
    expect(event).to_contain_text("new: Beacon")
    expect(event.get_by_role("link", name="beacon")).to_be_visible()
    row.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)


def test_deleted_document_leaves_the_list(user: PageUser, house: House) -> None:
    """Deletion asks first; afterwards the document is found among the deleted ones only."""
    page = user.page
    house.publish(GRAPH, {"id": "old/plan", "text": "The old plan of the quay.", "title": "Old plan"})
    user.open(GRAPH, "documents", "old/plan")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("dialog")).to_contain_text("Delete this document?")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete the document").click()
    expect(page.get_by_role("heading", name="Documents", level=1)).to_be_visible()
    page.get_by_label("Id begins with").fill("old/")
    expect(page.get_by_text("No document matches.")).to_be_visible()
    page.get_by_label("State").select_option("deleted")
    expect(page.locator("table.list")).to_contain_text("old/plan")


@pytest.mark.parametrize(
    ("screen", "id_", "way_on", "heading"),
    [
        ("documents", "nothing", "All documents", "Documents"),
        ("entities", "e-0123456789abcdef", "All entities", "Entities"),
        ("communities", "999999", "All communities", "Communities"),
    ],
)
def test_address_of_a_missing_thing_leads_to_the_list(
    user: PageUser, screen: str, id_: str, way_on: str, heading: str
) -> None:
    """An old bookmark, or a link to an entity that became one with another, does not end in a dead end."""
    user.open(GRAPH, screen, id_)
    page = user.page
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_role("link", name=way_on).click()
    expect(page.get_by_role("heading", level=1, name=heading)).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_long_names_leave_other_columns_readable(user: PageUser, house: House) -> None:
    """A name without blanks breaks no word of another column; an entity without a type has no stray separator."""
    name = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft" * 2
    mentioned = [{"name": name}, {"name": "Ana Ruiz", "type": "person"}]
    house.publish("long", {"id": "one", "text": f"{name} employs Ana Ruiz.", "entities": mentioned, "facts": []})
    user.open("long", "entities")
    page = user.page
    assert page.get_by_role("cell", name="person").evaluate(LINES) == 1
    assert not user.is_wider_than_the_screen()
    page.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.locator(".lead")).to_have_text("1 mention")


def test_page_recovers_when_the_service_was_unreachable(user: PageUser, house: House) -> None:
    """Without the service the page says so and keeps what it shows; with it again it continues by itself."""
    page = user.page
    user.open(GRAPH, "documents", "ida")
    expect(page.locator(".document-text")).to_contain_text("glaciologist")
    house.service.stop()
    page.get_by_role("link", name="Entities", exact=True).click()
    expect(page.get_by_role("alert").first).to_contain_text("The service cannot be reached")
    house.restart()
    expect(page.get_by_role("link", name="Ida Moreau")).to_be_visible()
    expect(page.get_by_text("The service cannot be reached")).to_have_count(0)


def test_texts_of_documents_are_never_markup(user: PageUser, house: House) -> None:
    """Scripts in ids, titles, sources, metadata, names, types, predicates and texts are shown as text."""
    page = user.page
    document = {
        "id": f"x/{HOSTILE}",
        "text": f"{HOSTILE} Mallory Vane owns the tavern. javascript:alert(1)",
        "title": f"Title {HOSTILE}",
        "source": f"Source {HOSTILE}",
        "metadata": {HOSTILE: HOSTILE, "deep": {"a": [HOSTILE]}},
        "entities": [{"name": f"Mallory {HOSTILE}", "type": f"type {HOSTILE}", "description": HOSTILE}],
        "facts": [{"subject": f"Mallory {HOSTILE}", "predicate": f"owns {HOSTILE}", "object": f"tavern {HOSTILE}"}],
    }
    house.publish("hostile", document)
    with house.client() as http:
        entities = http.get("hostile/entities").json()["entities"]
        community = http.get("hostile/communities", params={"level": 2}).json()["communities"][0]["community"]
    screens = [("ask", ""), ("documents", ""), ("documents", document["id"]), ("entities", "")]
    screens += [("entities", entities[0]["id"]), ("graph", entities[0]["id"]), ("communities", "")]
    screens += [("communities", str(community)), ("live", ""), ("operations", "")]
    for screen, id_ in screens:
        user.open("hostile", screen, str(id_))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if screen == "ask":
            user.ask("Who owns the tavern?", explain=True)
            for summary in page.locator(".answer-card summary").all():
                summary.click()
        expect(page.locator("main .busy")).to_have_count(0)
        assert page.locator("#page img, #page script, #page b, #page [onerror]").count() == 0, screen
        assert page.evaluate("window.attacked") is None, screen
    user.open("hostile", "documents", str(document["id"]))
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Title {HOSTILE}")
    expect(page.locator("dl.facts")).to_contain_text(f"{HOSTILE}: {HOSTILE}")


@pytest.mark.parametrize(
    "look", ["light", *(pytest.param(look, marks=pytest.mark.thorough) for look in ("dark", "phone"))]
)
def test_every_screen_is_accessible(browser: Browser, house: House, look: str) -> None:
    """axe-core finds nothing on any screen; on a phone none is wider than the screen."""
    axe = package_file("axe-core", "axe.min.js")
    size = (360, 740) if look == "phone" else (1280, 860)
    found: dict[str, object] = {}
    with house.client() as http:
        entity = http.get(f"{GRAPH}/entities", params={"q": "Ida Moreau"}).json()["entities"][0]["id"]
        listed = http.get(f"{GRAPH}/communities", params={"level": 2}).json()["communities"]
    community = str(max(listed, key=lambda each: int(each["size"]))["community"])

    def check(name: str, user: PageUser) -> None:
        expect(user.page.locator("main .busy")).to_have_count(0)
        if violations := user.axe(axe):
            found[name] = violations
        if user.is_wider_than_the_screen():
            found[f"{name} is too wide"] = user.page.evaluate("document.documentElement.scrollWidth")

    with page_user(browser, house.url, look == "dark", *size) as user:
        page = user.page
        page.goto(user.url)
        expect(page.get_by_label("API key or token")).to_be_visible()
        check("sign in", user)
        user.sign_in(house.key)
        user.open(GRAPH, "ask")
        user.ask("Who founded Kittiwake Station?", explain=True)
        page.get_by_role("button", name="Source 1").first.click()
        expect(page.locator("mark").first).to_be_visible()
        check("ask", user)
        for screen, id_ in (
            *(("documents", ""), ("documents", "ida"), ("entities", ""), ("entities", entity), ("graph", entity)),
            *(("communities", ""), ("communities", community), ("live", ""), ("operations", "")),
        ):
            user.open(GRAPH, screen, id_)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            check(f"{screen} {id_}", user)
        user.open(GRAPH, "documents", "ida")
        page.get_by_role("button", name="Edit").click()
        check("editor", user)
        page.get_by_role("button", name="Delete").click()
        check("dialog", user)
        page.keyboard.press("Escape")
        user.open("none-yet", "ask")
        expect(page.get_by_role("heading", name="No graph none-yet")).to_be_visible()
        check("first steps", user)
    assert found == {}
