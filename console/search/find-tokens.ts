import type { Token } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { shortAccessor } from "../format.ts";
import { href } from "../href.ts";
import { MIN_SEARCH } from "../tokens/filter.ts";
import { nameOf } from "../tokens/model.ts";
import { listTokens, readTokenOrEnd } from "../tokens/token.ts";
import { type Found, SHOWN_OF_KIND } from "./found.ts";

/** Tokens that the inventory's search finds. */
export async function tokensByText(api: Api, text: string): Promise<readonly Found[]> {
  if (text.length < MIN_SEARCH) return [];
  const answer = await listTokens(api, { search: text, limit: SHOWN_OF_KIND });
  return answer.ok ? answer.value.tokens.map(foundToken) : [];
}

/** Pairs of metadata beside a result. */
const PAIRS = 2;

const foundToken = (token: Token): Found => ({
  kind: "Tokens",
  name: nameOf(token),
  detail: [
    token.mount,
    token.role,
    ...Object.entries(token.metadata)
      .map(([key, value]) => `${key}=${value}`)
      .slice(0, PAIRS),
    shortAccessor(token.accessor),
  ]
    .filter(Boolean)
    .join(" · "),
  href: href(["tokens", token.accessor]),
});

/** The token with this text or accessor, alive or ended lately. The text is sent in bodies only. */
export async function tokenItself(api: Api, text: string): Promise<readonly Found[]> {
  for (const body of [{ token: text }, { accessor: text }]) {
    const answer = await api.call<Token>("sys/tokens/find", { body });
    if (answer.ok) return [foundToken(answer.value.data)];
  }
  return endedToken(api, text);
}

/** Only what the server takes for an accessor of its own gets into an address: the text may be a token. */
async function endedToken(api: Api, text: string): Promise<readonly Found[]> {
  const body = { accessors: [text] };
  const known = await api.call<{ readonly checked: number; readonly ended: number }>("sys/tokens/verify-ended", {
    body,
  });
  if (!known.ok || known.value.data.checked !== 1 || known.value.data.ended !== 1) return [];
  const answer = await readTokenOrEnd(api, text);
  if (!answer.ok || !("ended" in answer.value)) return [];
  const found = foundToken(answer.value.token);
  return [{ ...found, detail: `ended: ${answer.value.ended.how} · ${found.detail}` }];
}
