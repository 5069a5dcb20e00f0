import type { CredentialFormat } from "../../../auth/credential.ts";
import { JWT_FORM } from "../../../auth/leaked-text.ts";
import { currentTime } from "../../../base/clock.ts";
import type { Env } from "../../../env.ts";
import { findEndedAt, findListedBeginning, pageOfInventory } from "../../../listing/inventory/queries.ts";
import { publishRecent } from "../../../listing/updates/publish.ts";
import {
  addressBeginning,
  BATCH_PREFIX,
  claimedAddress,
  claimedEnd,
  decodeStoredId,
  isEndInTree,
  rowGeneratedAt,
  SERVICE_PREFIX,
  SERVICE_TOKEN_LENGTH,
  type TokenAddress,
  treeBeginning,
} from "../../../token/ids.ts";
import { type FindContext, listedAt } from "./find-stored.ts";
import type { Found } from "./found-text.ts";

/** Tokens of Vault and OpenBao, which have the interface that Grove implements. */
const OF_OTHERS = /^hv[sbr]\.[\w-]{8,}$/;

/** The form of secret-ids, unless they were chosen. */
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
const NO_SECRET_ID =
  "No token and no secret-id that is alive has this text. A secret-id has this form, and is not kept after its end or destruction: the audit log has who made it, its logins, and who destroyed it. The ids of entities, requests and jobs have it too, and are no secrets.";

const NOTHING_KNOWN =
  "Nothing is known by this text. An id that was chosen is known for a while after the end of its token.";

/** Says what a text is that is no token of this installation, by its form. */
export async function judgeUnknown({ env, installation }: FindContext, text: string): Promise<Found> {
  if (OF_OTHERS.test(text)) {
    return { state: "elsewhere", kind: "", message: "A token of Vault or OpenBao. This installation has not made it." };
  }
  const isService = text.startsWith(SERVICE_PREFIX);
  const address = claimedAddress(text);
  if (address && (isService || /^[\w-]+$/.test(text))) {
    const near = await nearest(env, address, isService, text);
    if (near) return near;
  }
  const sameEnd = await withSameEnd({ env, installation }, text);
  if (sameEnd) return sameEnd;
  const formats = env.kinds.credentials.map(({ format }) => format);
  const part = partOf(formats, text);
  if (part) return part;
  if (isService) {
    const message =
      "It has the form of a service token. This installation has not made it, or it is damaged in several places: then the whole may be alive, so look for that.";
    return { state: "elsewhere", kind: "", message };
  }
  if (text.startsWith(BATCH_PREFIX)) {
    const message = "It has the form of a batch token. This installation has not made it, or a character is wrong.";
    return { state: "elsewhere", kind: "", message };
  }
  if (formats.some((format) => format.matches(text))) {
    const message = "It has the form of a token. This installation has not made it, or a character is wrong.";
    return { state: "elsewhere", kind: "", message };
  }
  if (JWT_FORM.test(text)) {
    const message = "A JWT that no mount of this installation trusts, by the issuer that it names.";
    return { state: "elsewhere", kind: "jwt", message };
  }
  const message = UUID.test(text) ? NO_SECRET_ID : NOTHING_KNOWN;
  return { state: "unknown", kind: "", message };
}

/** Fewer characters of a token are too few to guess the rest. */
const LEAST_PART = 24;
const WHOLE_ID = SERVICE_TOKEN_LENGTH - SERVICE_PREFIX.length;
/** A batch token has no fixed length: one that is cut off can't be distinguished from one of another installation. */
const PART_OF_BATCH = /^b\.[\w-]{40,}$/;

/** Says that a text may be a part of a token; null for another text. The rest may have leaked elsewhere. */
function partOf(formats: readonly CredentialFormat[], text: string): Found | null {
  const isService = text.startsWith(SERVICE_PREFIX);
  const id = isService ? text.slice(SERVICE_PREFIX.length) : text;
  const isShort = /^[\w-]+$/.test(id) && id.length < WHOLE_ID && id.length >= LEAST_PART;
  // Without the prefix only a text as mixed as base64 resembles a part: not a word, a name, a UUID or a hash in hex.
  const isMixed = id.length > WHOLE_ID / 2 && /[a-z]/.test(id) && /[A-Z]/.test(id) && /\d/.test(id);
  const isOfFormat = formats.some((format) => format.part.test(text) && !format.matches(text));
  if (!(isShort && (isService || isMixed)) && !isOfFormat && !PART_OF_BATCH.test(text)) return null;
  const message =
    "A part of a token, or a damaged one, of an unknown owner. Look for the rest, such as in the lines around it, and ask about the whole.";
  return { state: "unjudged", kind: "part", message };
}

/** Longest text, in characters, of which the end is looked at: a token with some characters too many. */
const MAX_DAMAGED = SERVICE_TOKEN_LENGTH + 16;
/** Tokens of one ms that are compared. */
const SAME_MS = 100;

/** Returns the live token whose end, from the row on, the text has; its beginning is wrong. null: there is none. */
async function withSameEnd({ env, installation }: FindContext, text: string): Promise<Found | null> {
  const end = text.length > MAX_DAMAGED ? null : claimedEnd(text);
  const now = currentTime();
  const madeAt = end ? rowGeneratedAt(end.row) : now;
  if (!end || madeAt > now) return null;
  await publishRecent(env, now);
  const filter = { createdAfter: madeAt - 1, createdBefore: madeAt + 1 };
  const order = { by: "created", descending: false } as const;
  const { tokens } = await pageOfInventory(env, { filter, order, after: null, limit: SAME_MS, now });
  for (const { accessor } of tokens) {
    const address = decodeStoredId(accessor);
    if (address?.row !== end.row || !(await isEndInTree(installation.keys, address.treeId, end))) continue;
    const message =
      "A token, or its accessor, that is mistyped: its beginning is damaged or missing. The rest is that of the token shown here.";
    return { state: "mistyped", kind: "", message, token: await listedAt(env, address) };
  }
  return null;
}

/** Returns the token, or the tree, that a text with a wrong checksum begins like; null when its beginning is unknown. */
async function nearest(env: Env, address: TokenAddress, isService: boolean, text: string): Promise<Found | null> {
  await publishRecent(env, currentTime());
  const what = isService ? "A token" : "An accessor, or a token without its prefix,";
  const isShort = text.length < (isService ? SERVICE_TOKEN_LENGTH : WHOLE_ID);
  const damage = isShort ? "it is cut off" : "its checksum is wrong";
  const listed = await findListedBeginning(env, addressBeginning(address));
  const ended = listed ? null : await findEndedAt(env, address);
  if (!listed && !ended) {
    const isKnownTree = (await findListedBeginning(env, treeBeginning(address.treeId))) !== null;
    const message = `${what} that is mistyped: ${damage}. It begins like those of a tree of this installation.`;
    return isKnownTree ? { state: "mistyped", kind: "", message } : null;
  }
  const token = listed ? await listedAt(env, address) : ended?.token;
  const message = `${what} that is mistyped: ${damage}. It begins like that of the token shown here.`;
  return { state: "mistyped", kind: "", message, token, ...(ended && { ended }) };
}
