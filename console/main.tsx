import "./sign-in/login-storage.ts";
import { render } from "preact";
import { App } from "./app.tsx";

const root = document.getElementById("console");
if (root) {
  root.replaceChildren();
  render(<App />, root);
}
