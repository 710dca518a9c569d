"""The page in Chromium against a service: what a user does on each screen."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.support.node import package_file
from tests.support.page_client import PageUser, page_user
from tests.support.page_service import GRAPH, PageService


def test_wrong_key_is_refused_with_the_reason_and_the_right_one_lasts_for_the_tab(
    browser: Browser, page_service: PageService
) -> None:
    """The key is in no address; a reload keeps it, signing out forgets it."""
    with page_user(browser, page_service.url) as user:
        page = user.page
        page.goto(user.url)
        page.get_by_label("API key or token").fill("wrong-key")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("The credential was refused: the credential is not valid")
        user.sign_in(page_service.key)
        expect(page.get_by_role("heading", name="Ask", level=1)).to_be_visible()
        user.open(GRAPH, "documents", "tor")
        page.reload()
        expect(page.get_by_role("heading", name="Tor", level=1)).to_be_visible()
        assert page_service.key not in page.url and not any(page_service.key in address for address in user.addresses)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("API key or token")).to_be_visible()
        assert page.evaluate("sessionStorage.length + localStorage.length + document.cookie.length") == 0


def test_link_that_is_followed_while_the_page_opens_its_first_graph_is_kept(
    browser: Browser, page_service: PageService
) -> None:
    """Without a graph in its address the page opens the first one, unless the user has chosen meanwhile.

    The browser reports a new address in an event of its own, which may come late: here it never comes.
    """
    with page_user(browser, page_service.url) as user:
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
        user.page.get_by_label("API key or token").fill(page_service.key)
        user.page.get_by_role("button", name="Sign in").click()
        expect(user.page.get_by_role("heading", name="Documents", level=1)).to_be_visible()


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


def test_live_screen_follows_documents_as_they_arrive(user: PageUser, page_service: PageService) -> None:
    """Counters change without a reload, and each commit is listed with what it changed."""
    page = user.page
    user.open(GRAPH, "live")
    documents = page.locator(".counters div", has_text="Documents").locator("dd")
    expect(documents).to_have_text(re.compile(r"\d"))
    before = int(documents.inner_text())
    page_service.publish(
        GRAPH, {"id": "live-1", "text": "Skua Hut has four beds."}, {"id": "live-2", "text": "It is warm."}
    )
    expect(documents).to_have_text(str(before + 2))
    change = page.locator(".feed > li", has=page.get_by_role("link", name="live-1", exact=True))
    expect(change).to_have_count(1)
    change.locator("summary").click()
    expect(change.locator(".statements")).to_contain_text("Skua Hut has four beds")


def test_standing_question_reports_the_change_with_its_cause(user: PageUser, page_service: PageService) -> None:
    """A registered question shows an event, without a reload, once a document changes its evidence."""
    page = user.page
    user.open(GRAPH, "live")
    page.get_by_label("Report when the evidence changes for").fill("Who repaired the beacon of Cape Thorn?")
    page.get_by_role("button", name="Register").click()
    row = page.locator(".standing > li", has_text="Who repaired the beacon of Cape Thorn?")
    expect(row).to_contain_text("The same since version")
    page_service.publish(
        GRAPH, {"id": "beacon", "text": "Anton Reyes repaired the beacon of Cape Thorn.", "title": "Beacon"}
    )
    event = row.locator(".feed li").first
    expect(event).to_contain_text("new: Beacon")
    expect(event.get_by_role("link", name="beacon")).to_be_visible()
    row.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(row).to_have_count(0)


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


def test_page_recovers_when_the_service_was_unreachable(user: PageUser, page_service: PageService) -> None:
    """Without the service the page says so and keeps what it shows; with it again it continues by itself."""
    page = user.page
    user.open(GRAPH, "documents", "ida")
    expect(page.locator(".document-text")).to_contain_text("glaciologist")
    page_service.service.stop()
    page.get_by_role("link", name="Entities", exact=True).click()
    expect(page.get_by_role("alert").first).to_contain_text("The service cannot be reached")
    page_service.restart()
    expect(page.get_by_role("link", name="Ida Moreau")).to_be_visible()
    expect(page.get_by_text("The service cannot be reached")).to_have_count(0)


@pytest.mark.parametrize(
    "look", ["light", *(pytest.param(look, marks=pytest.mark.thorough) for look in ("dark", "phone"))]
)
def test_every_screen_is_accessible(browser: Browser, page_service: PageService, look: str) -> None:
    """axe-core finds nothing on any screen; on a phone none is wider than the screen."""
    axe = package_file("axe-core", "axe.min.js")
    size = (360, 740) if look == "phone" else (1280, 860)
    found: dict[str, object] = {}
    with page_service.client() as http:
        entity = http.get(f"{GRAPH}/entities", params={"q": "Ida Moreau"}).json()["entities"][0]["id"]
        listed = http.get(f"{GRAPH}/communities", params={"level": 2}).json()["communities"]
    community = str(max(listed, key=lambda each: int(each["size"]))["community"])

    def check(name: str, user: PageUser) -> None:
        expect(user.page.locator("main .busy")).to_have_count(0)
        if violations := user.axe(axe):
            found[name] = violations
        if user.is_wider_than_the_screen():
            found[f"{name} is too wide"] = user.page.evaluate("document.documentElement.scrollWidth")

    with page_user(browser, page_service.url, look == "dark", *size) as user:
        page = user.page
        page.goto(user.url)
        expect(page.get_by_label("API key or token")).to_be_visible()
        check("sign in", user)
        user.sign_in(page_service.key)
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
