"""A user of the page in tests: a browser context that signs in, visits screens, and records what must not happen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import quote

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

TIMEOUT_MS = 90_000
WATCH_POLICY = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(event.violatedDirective + " " + event.blockedURI + " " + event.sourceFile);
});
"""
expect.set_options(timeout=TIMEOUT_MS)


@dataclass
class PageUser:
    """A browser tab. `problems` are errors of its scripts and refused files, `addresses` all that it requested."""

    page: Page
    url: str
    problems: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    expected_statuses: tuple[int, ...] = (401, 404, 503)

    def open(self, graph: str, screen: str, id_: str = "", query: str = "") -> None:
        """Open a screen by its address, in the same document if the page is loaded already."""
        parts = [graph, screen, *([id_] if id_ else [])]
        address = f"{self.url}/#/{'/'.join(quote(part, safe='') for part in parts)}{query}"
        self.page.goto(address)

    def sign_in(self, key: str) -> None:
        """Give a key on the form that the page shows first."""
        self.page.goto(f"{self.url}/")
        self.page.get_by_label("API key or token").fill(key)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.locator("#navigation")).to_be_attached()

    def ask(self, question: str, explain: bool = False) -> None:
        """Ask on the screen that is open, and wait for the whole answer."""
        page = self.page
        if explain:
            page.get_by_text("Options", exact=True).click()
            page.get_by_label("Explain the retrieval").check()
        page.get_by_label("Question", exact=True).fill(question)
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.get_by_role("heading", name=question, level=2)).to_be_visible()
        self.wait_for_answer()

    def wait_for_answer(self) -> None:
        expect(self.page.locator(".answer-card .answer[aria-busy=false]")).to_be_visible()
        expect(self.page.locator(".answer-card .meta")).to_be_visible()

    def violations(self) -> list[str]:
        """Return the violations of the page's security policy since it was loaded."""
        found: list[str] = self.page.evaluate("window.violations")
        return found

    def is_wider_than_the_screen(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))

    def axe(self, source: str) -> list[str]:
        """Return what axe-core finds on the screen as it is."""
        self.page.evaluate(source)
        found = self.page.evaluate("async () => (await axe.run(document)).violations")
        return [
            f"{each['id']}: {node['target']} {json.dumps(node['any'][0]['message']) if node['any'] else node['html']}"
            for each in found
            for node in each["nodes"]
        ]

    def note(self, message: ConsoleMessage) -> None:
        expected = any(f"status of {status}" in message.text for status in self.expected_statuses)
        if message.type == "error" and not expected and "ERR_CONNECTION" not in message.text:
            self.problems.append(message.text)

    def requested(self, request: Request) -> None:
        self.addresses.append(request.url)


@contextmanager
def page_user(
    browser: Browser, url: str, dark: bool = False, width: int = 1280, height: int = 860
) -> Iterator[PageUser]:
    """Yield a user with a new context: nothing is stored from others."""
    context = browser.new_context(
        color_scheme="dark" if dark else "light", viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    context.set_default_timeout(TIMEOUT_MS)
    try:
        page = context.new_page()
        user = PageUser(page, url)
        page.add_init_script(WATCH_POLICY)
        page.on("console", user.note)
        page.on("pageerror", lambda error: user.problems.append(str(error)))
        page.on("dialog", lambda dialog: user.problems.append(f"dialog: {dialog.message}"))
        page.on("request", user.requested)
        yield user
    finally:
        context.close()
