import { asCalled, helpAsCalled } from "../../local/command-line.ts";
import type { Count, FoundText } from "../answer-schemas.ts";
import type { Called } from "../client.ts";
import { writeCommand } from "../curl.ts";
import { harmless } from "../terminal.ts";
import { type FoundContext, isAlive, type Judged, mayBeAlive } from "./find-judgements.ts";
import type { Held } from "./held-credentials.ts";
import { countText } from "./token-lines.ts";

/** What to do about a text: commands that can be copied. */
export function nextSteps(
  found: FoundText,
  { isOwn, hasRootParent, madeAtPath }: Pick<FoundContext, "isOwn" | "hasRootParent" | "madeAtPath">,
): string[] {
  const { state, token, credential, kind } = found;
  if (kind === "jwt" || kind === "identity-document" || kind === "role-id") return loginTextLines(found);
  // The holder of a mistyped text may also have the token that it resembles.
  const isNear = state === "mistyped" && token !== undefined;
  if (!isAlive(found) && state !== "ended" && !isNear) return [];
  if (kind === "secret-id" && credential) return secretIdLines(credential, state);
  if (token) {
    const hasChildren = token.children > 0;
    const about = [
      hasChildren
        ? `  who made it, and what it and all below it did: ${asCalled(`audit ${token.accessor} --below`)}`
        : `  who made it, and what it did: ${asCalled(`audit ${token.accessor}`)}`,
      ...(state === "ended"
        ? []
        : [`  what is above${hasChildren ? " and below" : ""} it: ${asCalled(`tree ${token.accessor}`)}`]),
    ];
    if (!mayBeAlive(found)) return found.ended?.job ? [...about, receiptLine(found.ended.job)] : about;
    const root = token.policies.includes("root") ? " --include-root" : "";
    const self = isOwn ? " --include-self" : "";
    const end = `  revoke it with all below${isNear ? ", if its text may have leaked as well" : ""}: ${asCalled(`contain --accessor ${token.accessor}${root}${self}`)}`;
    const alone = `  end the lease alone: ${readingText("contain -")}`;
    if (kind === "wrapping") return [...about, `  end it, with what it holds: ${readingText("contain -")}`];
    return kind === "lease" ? [...about, alone, end] : [...about, end];
  }
  if (kind !== "batch" && !credential) return [];
  const team = credential?.metadata.team_id;
  if (state === "ended" && team) return endedTeamLines(team, credential.accessor);
  const about = `  what it did: ${readingText("audit -")}`;
  if (!isAlive(found) || !credential) return [about];
  return kind === "batch" ? [about, ...batchEndLines(credential, hasRootParent, madeAtPath)] : teamLines(credential);
}

/** What outlives a text that has ended, and how it is ended. */
export function outlivingLines({ kind }: Judged, left: Called<Held> | null): string[] {
  if (left === null) return [];
  const isSecretId = kind === "secret-id";
  if (!left.ok)
    return [
      `  ${isSecretId ? "tokens of its logins" : "what it held"} may be alive: it is not known (${harmless(left.error.message)})`,
    ];
  const { tokens, secretIds, isBatch } = left.value;
  const batch = `  it held a batch token, which may be alive and can't be ended alone (${helpAsCalled("docs/leases.md")}, What ends at once)`;
  return [
    ...(isBatch ? [batch] : []),
    ...tokens.map((one) => `  the token that it held is alive: ${asCalled(`contain --accessor ${one}`)}`),
    ...secretIds.flatMap(({ accessor, path }) => [
      isSecretId
        ? "  tokens of its logins are alive"
        : `  the secret-id that it held is alive, or tokens of its logins: ${accessor} of ${harmless(path)}`,
      `  end ${isSecretId ? "them" : "both"}: ${readingText("contain -")}`,
    ]),
  ];
}

/** A command that takes the text on standard input. */
const readingText = (command: string): string => `${asCalled(command)} (which reads the text as this command does)`;

const receiptLine = (job: string): string => `  what else that job ended: ${asCalled(`contain --job ${job}`)}`;

/** The roles of a mount that commands are shown for. */
const rolesOf = (taking: readonly string[] = []): readonly string[] =>
  taking.length === 0 ? ["NAME"] : taking.slice(0, SHOWN_MOUNTS).map((role) => harmless(role));

/** Most mounts, and roles of each, that commands are shown for. */
const SHOWN_MOUNTS = 3;

/** Tokens of a JWT's logins do not end with the JWT. The log has the subject of each login, and never the JWT. */
function loginTextLines({ state, kind, mounts = [], roles = {}, entities = [] }: FoundText): string[] {
  if (state !== "unjudged" && state !== "ended" && state !== "live") return [];
  const owners = entities.slice(0, SHOWN_MOUNTS).map(({ id, name }) => {
    return `  end the tokens of ${harmless(name)}: ${asCalled(`contain --entity-id ${id}`)}`;
  });
  const shown = mounts.slice(0, SHOWN_MOUNTS).map((mount) => harmless(mount));
  return [
    ...shown.flatMap((mount) => [
      `  logins at ${mount}: ${asCalled(`audit --mount ${mount} --kind login`)}`,
      ...rolesOf(roles[mount]).map(
        (role) => `  end the tokens of a role's logins: ${asCalled(`contain --mount ${mount} --role ${role}`)}`,
      ),
    ]),
    ...owners,
    ...(shown.length === 0
      ? []
      : [`  (${helpAsCalled("docs/runbook.md")}, A secret-id has leaked${kind === "role-id" ? "" : ", at its end"})`]),
  ];
}

/**
 * A team records its last tokens that ended. Of others only the audit store has something. The ids of a team and of its
 * tokens begin alike.
 */
function endedTeamLines(team: string, accessor: string): string[] {
  if (accessor !== "") return [`  who made it, what it did, and who ended it: ${asCalled(`audit ${accessor}`)}`];
  const own = team.replace(/^team-/, "").slice(0, TEAM_BEGINNING);
  return [
    `  who made tokens of this team, and when: ${asCalled(`audit --path teams/${team}/authentication-token`)}`,
    `  who deleted one by its id: ${asCalled(`audit --path authentication-tokens/at-${own}`)}`,
  ];
}

/** Characters that the ids of a team and of its tokens have in common. */
const TEAM_BEGINNING = 8;

/** A token of a team or an organization is not in the list of tokens, and is deleted by its id. */
function teamLines({ accessor, metadata: of }: NonNullable<FoundText["credential"]>): string[] {
  return [
    `  who made it, and what it did: ${asCalled(`audit ${accessor}`)}`,
    `  delete it: ${readingText("contain -")}`,
    `  (${helpAsCalled("docs/runbook.md")}, A token has leaked${of.team ? "; a new one is made on the page of its team" : ""})`,
  ];
}

/** A secret-id is listed by its role. Tokens of its logins outlive it unless the role says otherwise. */
function secretIdLines({ accessor }: NonNullable<FoundText["credential"]>, state: FoundText["state"]): string[] {
  return [
    `  who made it, and its logins: ${asCalled(`audit ${accessor}`)}`,
    ...(state === "ended" ? [] : [`  destroy it, and end the tokens that it gave: ${readingText("contain -")}`]),
    `  (${helpAsCalled("docs/runbook.md")}, A secret-id has leaked)`,
  ];
}

/** A batch token can't be revoked alone: it ends with its parent, or with a revocation by path or entity. */
function batchEndLines(
  { parent, path, entity_id: entity }: NonNullable<FoundText["credential"]>,
  hasRootParent: boolean,
  madeAtPath: Count | null,
): string[] {
  const alone = "  a batch token can't be ended alone";
  // Revoking a root token with all its descendants would be out of proportion.
  if (parent !== null && !hasRootParent) {
    return [
      alone,
      `  revoke it with its parent and everything below that: ${asCalled(`contain --accessor ${parent}`)}`,
    ];
  }
  const others =
    madeAtPath === null
      ? "service tokens and batch tokens that no list has"
      : `${countText(madeAtPath, "service token")} with all below, and batch tokens, which no list has`;
  return [
    alone,
    `  revoke it with everything issued at its path, ${others}: ${writeCommand(`sys/leases/revoke-prefix/${path}`)}`,
    ...(entity === ""
      ? []
      : [
          `  or with everything issued to its entity: ${writeCommand(`identity/entity/id/${entity}/not-before`, { not_before: "now" })}`,
        ]),
    `  (${helpAsCalled("docs/leases.md")}, What ends at once)`,
  ];
}
