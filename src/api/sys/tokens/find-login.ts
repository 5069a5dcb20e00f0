import type {
  InstanceDocument,
  LeakedText,
  LoginRoleId,
  LoginSecret,
  LoginText,
  NotAsked,
  TrustedJwt,
} from "../../../auth/leaked-text.ts";
import { currentTime, formatRfc3339, type Ms } from "../../../base/clock.ts";
import { inGroups } from "../../../base/parallel.ts";
import { failureOfPlatform } from "../../../base/platform-errors.ts";
import type { Env } from "../../../env.ts";
import type { Installation } from "../../../system/installation.ts";
import type { Mount } from "../../../system/mount.ts";
import { fromNetworks } from "./networks-text.ts";

/** The verdict on a text by which clients log in, with a sentence for people. */
type JudgedLogin =
  | { readonly state: "live"; readonly message: string; readonly mount: Mount; readonly secret: LoginSecret }
  | {
      readonly state: "live" | "ended" | "unjudged" | "elsewhere" | "unknown";
      readonly message: string;
      readonly kind: "role-id" | "jwt" | "identity-document" | "";
      readonly secret?: never;
      /** Of a role-id, a JWT or a document of an instance: the mounts that may take it. */
      readonly mounts?: readonly Mount[];
      /** The role of a role-id; of a JWT the roles that take its claims now, by the path of their mount. */
      readonly roles?: Readonly<Record<string, readonly string[]>>;
      /** Of a JWT: the aliases that its logins would have. */
      readonly aliases?: readonly { readonly mount: Mount; readonly name: string }[];
    };

/** Maximum number of mounts that are asked about a text. */
const ASKED_MOUNTS = 20;
/** Mounts that a sentence names. */
const NAMED_MOUNTS = 5;
/** Characters of a claim that a sentence names: who made the text has chosen it. */
const SHOWN_CLAIM = 200;
const SHOWN_AUDIENCES = 5;

/** Roles of a mount that a sentence names. */
const NAMED_ROLES = 5;

const quoted = (claim: string): string => JSON.stringify(claim.slice(0, SHOWN_CLAIM));

/**
 * Asks the mounts about a text that is no token: the secret of a client, or a token of another issuer. This is no
 * login. null: no mount recognises it.
 */
export async function findLogin(
  { env, installation }: { readonly env: Env; readonly installation: Installation },
  texts: readonly string[],
): Promise<JudgedLogin | null> {
  const able = installation.mounts.filter(({ type }) => env.kinds.methods.get(type)?.recognise !== undefined);
  const asked = able.slice(0, ASKED_MOUNTS);
  const answers = (await inGroups(asked, (mount) => answersOf({ env, installation, mount }, texts))).flat();
  const secret = answers.flatMap(({ mount, known }) =>
    known.kind === "secret-id" ? [{ mount, secret: known }] : [],
  )[0];
  if (secret) return { state: "live", message: secretMessage(secret), ...secret };
  const roleIds = answers.flatMap(({ mount, known }) => (known.kind === "role-id" ? [{ mount, roleId: known }] : []));
  const open = roleIds.find(({ roleId }) => !roleId.needsSecret);
  if (open) return { state: "live", ...judgedRoleId(open) };
  const gaps = answers.flatMap(({ known }) => (known.kind === "not asked" ? [known] : []));
  const left = able[ASKED_MOUNTS];
  if (left) gaps.push({ kind: "not asked", ask: `auth/${left.path} and the mounts after it`, isWhole: true });
  const jwts = answers.flatMap(({ mount, known }) => (known.kind === "jwt" ? [{ mount, jwt: known }] : []));
  const jwt = jwts[0]?.jwt;
  if (jwt) {
    const trusting = [...new Map(jwts.map((one) => [one.mount, one])).values()];
    const aliases = trusting.flatMap(({ mount, jwt: { aliases: names } }) => names.map((name) => ({ mount, name })));
    return { kind: "jwt", aliases, ...judgedJwt(jwt, trusting, !gaps.some(({ isWhole }) => isWhole)) };
  }
  const documents = answers.flatMap(({ mount, known }) =>
    known.kind === "identity-document" ? [{ mount, document: known }] : [],
  );
  const document = documents[0]?.document;
  if (document) {
    const mounts = [...new Set(documents.map(({ mount }) => mount))];
    return { state: "unjudged", kind: document.kind, mounts, message: documentMessage(document, pathsOf(mounts)) };
  }
  const unused = able.some(({ type }) => env.kinds.methods.get(type)?.documentIn) ? null : documentIn(env, texts);
  if (unused) return { state: "elsewhere", kind: unused.kind, message: unusedDocumentMessage(unused) };
  if (gaps.length > 0) return { state: "unjudged", kind: "", message: gapMessage(gaps) };
  const [named] = roleIds;
  return named ? { state: "unknown", ...judgedRoleId(named) } : null;
}

function judgedRoleId({ mount, roleId }: { readonly mount: Mount; readonly roleId: LoginRoleId }) {
  const { kind, role, needsSecret, networks } = roleId;
  const path = `auth/${mount.path}`;
  const message = needsSecret
    ? `The role-id of ${path}, role ${role}. It is no secret by itself: a login needs a secret-id of the role, too.`
    : `The role-id of ${path}, role ${role}, whose logins need no secret-id: anyone who has the text can log in${fromNetworks(networks)}. Give the role bind_secret_id, or another role_id.`;
  return { kind, message, mounts: [mount], roles: { [path]: [role] } };
}

async function answersOf({ env, installation, mount }: Omit<LeakedText, "text">, texts: readonly string[]) {
  const answers: { readonly mount: Mount; readonly known: LoginText }[] = [];
  for (const text of texts) {
    try {
      const known = await env.kinds.methods.get(mount.type)?.recognise?.({ env, installation, mount, text });
      if (known) answers.push({ mount, known });
    } catch (error) {
      // The other mounts may know the text.
      if (failureOfPlatform(error) === null) throw error;
      const ask = `auth/${mount.path} again, which does not answer now`;
      answers.push({ mount, known: { kind: "not asked", ask, isWhole: true } });
    }
  }
  return answers;
}

function documentIn(env: Env, texts: readonly string[]): InstanceDocument | null {
  const methods = [...env.kinds.methods.values()];
  return texts.flatMap((text) => methods.map(({ documentIn }) => documentIn?.(text) ?? null)).find(Boolean) ?? null;
}

const secretMessage = ({ mount, secret }: { mount: Mount; secret: LoginSecret }): string =>
  `A ${secret.kind} of auth/${mount.path}, role ${secret.role}, that is alive: with the role-id, which is no secret, anyone who has the text can log in${fromNetworks(secret.networks)}.`;

const pathsOf = (mounts: readonly Mount[]): string => firstOf(mounts.map(({ path }) => `auth/${path}`));

function firstOf(texts: readonly string[]): string {
  const others = texts.length - NAMED_MOUNTS;
  return `${texts.slice(0, NAMED_MOUNTS).join(", ")}${others > 0 ? ` and ${others} others` : ""}`;
}

const isPast = (time: Ms | null): boolean => time !== null && time < currentTime();

interface TrustingMount {
  readonly mount: Mount;
  readonly jwt: TrustedJwt;
}

/** `auth/jwt/ (roles ci, deploy)`. */
function rolesText({ mount, jwt: { roles } }: TrustingMount): string {
  const path = `auth/${mount.path}`;
  if (roles === null) return path;
  const { names, more } = roles;
  if (names.length === 0) return `${path} (no role takes its claims now)`;
  const isMore = more || names.length > NAMED_ROLES;
  const shown = names.slice(0, NAMED_ROLES).join(", ");
  return `${path} (${names.length === 1 ? "role" : "roles"} ${shown}${isMore ? " and others" : ""})`;
}

/** @param isAll false when a mount was not asked, which may take the token for longer. */
function judgedJwt(
  { issuer, subject, audiences, expiresAt }: TrustedJwt,
  trusting: readonly TrustingMount[],
  isAll: boolean,
) {
  const mounts = trusting.map(({ mount }) => mount);
  const by = issuer === "" ? "that names no issuer" : `of the issuer ${issuer.slice(0, SHOWN_CLAIM)}`;
  const claims = [
    ...(subject === "" ? [] : [`subject (sub) ${quoted(subject)}`]),
    ...(audiences.length === 0 ? [] : [`audience (aud) ${audiences.slice(0, SHOWN_AUDIENCES).map(quoted).join(", ")}`]),
  ];
  const of = [by, ...claims].join(", ");
  const time = expiresAt === null ? "" : formatRfc3339(expiresAt).replace(/\.\d+/, "");
  if (isAll && trusting.every(({ jwt }) => isPast(jwt.acceptedUntil))) {
    const message = `A JWT ${of} that is expired since ${time}, as it says itself. No role of the mounts that trust it (${pathsOf(mounts)}) takes one so late.`;
    return { state: "ended", mounts, message } as const;
  }
  const late = isPast(expiresAt) ? ", and a role may take it for longer by its clock_skew_leeway" : "";
  const end = expiresAt === null ? "it does not say until when" : `until ${time}${late}`;
  const message = `A JWT ${of}, which these mounts trust: ${firstOf(trusting.map(rolesText))}; ${end}. It was only read, and its signature not verified: take it as a way to log in, and end it at its issuer.`;
  const roles = Object.fromEntries(
    trusting.flatMap(({ mount, jwt }) => (jwt.roles === null ? [] : [[`auth/${mount.path}`, jwt.roles.names]])),
  );
  return { state: "unjudged", mounts, roles, message } as const;
}

const instanceText = ({ instance, account, region }: InstanceDocument): string =>
  `of the instance ${instance} of the account ${account} in ${region}`;

const unusedDocumentMessage = (document: InstanceDocument): string =>
  `An identity document ${instanceText(document)}. This installation has no mount that takes one: it is no way to log in here.`;

function documentMessage(document: InstanceDocument, paths: string): string {
  const of = instanceText(document);
  return document.isSigned
    ? `A signed identity document ${of}, which logs in at ${paths} where a role takes the instance. It has no end, and was only read, not verified. After its first login it is good with the nonce of that login alone, as long as the access list has the instance.`
    : `An identity document ${of}. Together with its signature, which is another text, it logs in at ${paths} where a role takes the instance.`;
}

const gapMessage = (gaps: readonly NotAsked[]): string =>
  `It may be what a client logs in with: not all that could know it was asked. Ask ${gaps.map(({ ask }) => ask).join(", ")}.`;
