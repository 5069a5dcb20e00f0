import type { Reply } from "../../../wire/reply.ts";

/** No scripts, no frames, no other origins. The URL has an authorization code, so no other origin gets a referrer. */
const HEADERS = {
  "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "Referrer-Policy": "same-origin",
  "X-Frame-Options": "DENY",
};

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** A page with a title and a text. No other party may choose these; both are escaped nevertheless. */
export function textPage(status: number, title: string, text: string): Reply {
  return pageOf(status, title, `<p>${escaped(text)}</p>`);
}

/** The page that asks a person to confirm a login, and to copy the code that the client shows. */
export function confirmationPage(
  login: { readonly state: string; readonly confirmation: string; readonly role: string; readonly address: string },
  isRetry: boolean,
): Reply {
  const wrong = isRetry ? "<p><strong>That is not the code that the program shows.</strong></p>" : "";
  const hidden = (["state", "confirmation"] as const).map(
    (name) => `<input type="hidden" name="${name}" value="${escaped(login[name])}">`,
  );
  return pageOf(
    200,
    "Confirm the sign-in",
    `<p>A program at the address <b>${escaped(login.address)}</b> wants to sign in with the role
<b>${escaped(login.role)}</b>, as you.</p>
<p>Did you start it yourself? Then type the code that it shows. If somebody sent you here, close this page.</p>
${wrong}<form method="post" action="callback">${hidden.join("")}
<label>Code <input name="user_code" autocomplete="off" autofocus required maxlength="16"></label>
<button>Sign in</button></form>`,
  );
}

function pageOf(status: number, title: string, body: string): Reply {
  const text = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title></head>
<body><main><h1>${escaped(title)}</h1>
${body}</main></body></html>
`;
  return { kind: "text", status, mediaType: "text/html; charset=utf-8", text, headers: HEADERS };
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
}
