import { JWT_FORM } from "../../../auth/leaked-text.ts";
import { currentTime } from "../../../base/clock.ts";
import type { Env } from "../../../env.ts";
import { findEndedAt, findListedBeginning } from "../../../listing/inventory/queries.ts";
import { publishRecent } from "../../../listing/updates/publish.ts";
import {
  addressBeginning,
  BATCH_PREFIX,
  claimedAddress,
  SERVICE_PREFIX,
  SERVICE_TOKEN_LENGTH,
  type TokenAddress,
  treeBeginning,
} from "../../../token/ids.ts";
import { listedAt } from "./find-stored.ts";
import type { Found } from "./found-text.ts";

/** Tokens of Vault and OpenBao, which have the interface that Grove implements. */
const OF_OTHERS = /^hv[sbr]\.[\w-]{8,}$/;

/** Says what a text is that is no token of this installation, by its form. */
export async function judgeUnknown(env: Env, text: string): Promise<Found> {
  if (OF_OTHERS.test(text)) {
    return { state: "elsewhere", kind: "", message: "A token of Vault or OpenBao. This installation has not made it." };
  }
  const isService = text.startsWith(SERVICE_PREFIX);
  const address = claimedAddress(text);
  if (address && (isService || /^[\w-]+$/.test(text))) {
    const near = await nearest(env, address, isService, text);
    if (near) return near;
  }
  if (isService) {
    const message =
      "It has the form of a service token. This installation has not made it, or its beginning is damaged.";
    return { state: "elsewhere", kind: "", message };
  }
  if (text.startsWith(BATCH_PREFIX)) {
    const message = "It has the form of a batch token. This installation has not made it, or a character is wrong.";
    return { state: "elsewhere", kind: "", message };
  }
  if (env.kinds.credentials.some(({ format }) => format.matches(text))) {
    const message = "It has the form of a token. This installation has not made it, or a character is wrong.";
    return { state: "elsewhere", kind: "", message };
  }
  if (JWT_FORM.test(text)) {
    const message = "A JWT that no mount of this installation trusts, by the issuer that it names.";
    return { state: "elsewhere", kind: "jwt", message };
  }
  const message =
    "Nothing is known by this text. An id that was chosen is known for a while after the end of its token.";
  return { state: "unknown", kind: "", message };
}

/** Returns the token, or the tree, that a text with a wrong checksum begins like; null when its beginning is unknown. */
async function nearest(env: Env, address: TokenAddress, isService: boolean, text: string): Promise<Found | null> {
  await publishRecent(env, currentTime());
  const what = isService ? "token" : "accessor";
  const isShort = isService && text.length < SERVICE_TOKEN_LENGTH;
  const damage = isShort ? "it is cut off" : "its checksum is wrong";
  const listed = await findListedBeginning(env, addressBeginning(address));
  const ended = listed ? null : await findEndedAt(env, address);
  if (!listed && !ended) {
    const isKnownTree = (await findListedBeginning(env, treeBeginning(address.treeId))) !== null;
    const message = `A ${what} that is mistyped: ${damage}. It begins like those of a tree of this installation.`;
    return isKnownTree ? { state: "mistyped", kind: "", message } : null;
  }
  const token = listed ? await listedAt(env, address) : ended?.token;
  const message = `A ${what} that is mistyped: ${damage}. It begins like that of the token shown here.`;
  return { state: "mistyped", kind: "", message, token, ...(ended && { ended }) };
}
