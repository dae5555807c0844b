// Signing in with the one-time code of the link, and the page that somebody without a session sees.
import { send, signedOut } from "./api.js";
import { $, copy, button, fill, h } from "./dom.js";

/** Spend the code in the fragment, if there is one; it leaves the address before anything is asked. */
export async function signIn() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!location.hash) return true;
  history.replaceState(null, "", location.pathname + location.search);
  if (!code) return true;
  try {
    await send("POST", "/v1/session", { code });
    return true;
  } catch (error) {
    // A link opened twice in one browser: the session of the first time still holds.
    if (await isSignedIn()) return true;
    showSignedOut(error);
    return false;
  }
}

async function isSignedIn() {
  return send("GET", "/v1/me").then(() => true, () => false);
}

signedOut.addEventListener("out", (event) => showSignedOut(event.detail));

export function showSignedOut(error) {
  document.body.classList.add("is-out");
  document.dispatchEvent(new Event("signed-out"));
  const command = "audit serve link";
  const node = fill(
    $("signed-out"),
    h("h1", {}, "Signed out"),
    h("p", {}, "On the machine where the service runs, print a new link and open it here:"),
    h("p", { class: "command" }, h("code", {}, command), button("Copy", () => copy(command), { class: "quiet" })),
    h("p", { class: "muted" }, "A link works once, within 60 seconds. The session then lasts 12 hours and can read, not export."),
    error?.message ? h("p", { class: "muted" }, `The service said: ${error.message}`) : null,
  );
  node.hidden = false;
}
