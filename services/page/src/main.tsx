import { render } from "preact";
import { App } from "./app";
import { startRouter } from "./router";
import "./style/page.css";

startRouter();
const root = document.getElementById("page");
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
