import * as z from "zod";
import { clientVariables } from "../local/client-environment.ts";
import { asCalled, fileFailure, helpAsCalled, isBinary, isOfFile, versionOf } from "../local/command-line.ts";
import { InputCompressed } from "../local/input-text.ts";
import { addressProblem } from "../local/server-address.ts";
import { trustAuthorityIn } from "../local/server-authority.ts";
import { tokenIn } from "../local/token-from-environment.ts";
import { PROGRAM_HELPS } from "../program-helps.ts";
import type { GroveCommand } from "./arguments.ts";
import { type Called, type CallFailure, failed, GroveClient } from "./client.ts";
import { applyFile, initFromFile } from "./commands/apply.ts";
import { showEvents, verifyStore } from "./commands/audit.ts";
import { archiveAudit } from "./commands/audit-archive.ts";
import { completionScript } from "./commands/completion.ts";
import { containTokens } from "./commands/contain.ts";
import { containText } from "./commands/contain-text.ts";
import { examine } from "./commands/doctor.ts";
import { explainAccess } from "./commands/explain.ts";
import { findTexts } from "./commands/find.ts";
import { generateRoot } from "./commands/generate-root.ts";
import { showFailingLeases } from "./commands/leases.ts";
import { previewRestore, restoreFrom } from "./commands/restore.ts";
import { followJob, revokeTokens, stopJob } from "./commands/revoke.ts";
import { countEnds, countTokens, showTokens } from "./commands/tokens.ts";
import { showForest, showToken } from "./commands/tree.ts";
import { explainRequest } from "./commands/why.ts";
import { sayProse } from "./prose.ts";
import { harmless, InputTooLong, Interrupted, type Session, type Terminal } from "./terminal.ts";

const DEFAULT_ADDRESS = "http://127.0.0.1:8200";

/** Carries out a command. Returns the exit code. */
export async function runGrove(
  command: GroveCommand,
  environment: NodeJS.ProcessEnv,
  terminal: Terminal,
): Promise<number> {
  if (command.kind === "completion") {
    terminal.out(completionScript(command.shell, isBinary() ? PROGRAM_HELPS : {}).trimEnd());
    return 0;
  }
  if (command.kind === "version") {
    terminal.out(command.json ? JSON.stringify({ version: versionOf() }) : `Grove ${versionOf()}`);
    return 0;
  }
  const variables = clientVariables(environment);
  const address = environment[variables.address] || DEFAULT_ADDRESS;
  const read = tokenIn(environment, variables.token);
  const trusted = trustAuthorityIn(environment);
  const problem =
    addressProblem(variables.address, address) ?? (read.ok ? null : read.error) ?? (trusted.ok ? null : trusted.error);
  if (problem !== null || !read.ok) {
    terminal.say(`grove: ${problem}`);
    return command.kind === "apply" ? 1 : 2;
  }
  const token = read.value;
  // The calls of these commands are safe to repeat.
  const repeats = REPEATED.has(command.kind);
  // What does not answer at once is what the doctor has to say.
  const hasty = command.kind === "doctor" && { tries: 2, timeout: DOCTOR_TIMEOUT_MS };
  const client = new GroveClient(address, token, { repeats, ...hasty });
  const session = { client, terminal, json: command.json };
  const done = await carryOut(command, session, token, environment).catch(failedHere);
  terminal.progress(null);
  if (done === "interrupted") {
    terminal.say(`grove: nothing was ${UNDONE[command.kind] ?? "done"}`);
    return INTERRUPTED;
  }
  if (done.ok) return done.value;
  const isValid = INITIALIZES.has(command.kind) ? null : await isValidToken(client, done.error);
  const advice = adviceOn(done.error, command, token, isValid)
    .replaceAll("VAULT_TOKEN", variables.token)
    .replaceAll("VAULT_ADDR", variables.address);
  const failure = `grove: ${done.error.message}${advice}`;
  for (const line of failure.split("\n")) sayProse(terminal, harmless(line), "red");
  return 1;
}

/** A server that takes longer hangs: it ends each of its checks after ten seconds. */
const DOCTOR_TIMEOUT_MS = 15_000;

/** The exit code of shells for a program that was ended by Ctrl-C: 128 + SIGINT. */
const INTERRUPTED = 130;

/** What an interrupted command has not done. */
const UNDONE: Readonly<Partial<Record<GroveCommand["kind"], string>>> = {
  revoke: "revoked",
  contain: "revoked",
  "contain-text": "ended",
  apply: "written",
  find: "looked for",
  audit: "asked",
};

function failedHere(error: unknown): Called<never> | "interrupted" {
  if (error instanceof Interrupted) return "interrupted";
  if (isOfFile(error)) return failed(fileFailure(error));
  if (error instanceof InputTooLong || error instanceof InputCompressed) return failed(error.message);
  throw error;
}

const SELF = z.looseObject({});

/** Whether the token is valid: a 403 does not say if the token is invalid or only lacks rights. null: not known. */
async function isValidToken(client: GroveClient, { status }: CallFailure): Promise<boolean | null> {
  if (status !== 403 || client.isAnonymous) return null;
  const self = await client.get("auth/token/lookup-self", SELF);
  if (self.ok) return true;
  return self.error.status === 403 ? false : null;
}

/** Their token is a secret of the deployment, and a server that was never initialized has no token that is valid. */
const INITIALIZES: ReadonlySet<GroveCommand["kind"]> = new Set(["restore", "init", "generate-root"]);

const REPEATED: ReadonlySet<GroveCommand["kind"]> = new Set(["restore", "preview", "init", "apply"]);

/** They only read `sys/tokens`. */
const READS: ReadonlySet<GroveCommand["kind"]> = new Set(["tokens", "count", "ends", "tree"]);

const AUDIT: ReadonlySet<GroveCommand["kind"]> = new Set(["audit", "verify", "archive"]);

function carryOut(
  command: Exclude<GroveCommand, { kind: "completion" | "version" }>,
  session: Session,
  token: string,
  environment: NodeJS.ProcessEnv,
): Promise<Called<number>> {
  switch (command.kind) {
    case "tokens":
      return showTokens(session, command);
    case "count":
      return countTokens(session, command);
    case "ends":
      return countEnds(session, command);
    case "tree":
      return command.accessor === null ? showForest(session) : showToken(session, command.accessor);
    case "revoke":
      return revokeTokens(session, command);
    case "job":
      return followJob(session, command.id);
    case "stop":
      return stopJob(session, command.id);
    case "explain":
      return explainAccess(session, command);
    case "contain":
      return containTokens(session, command);
    case "contain-text":
      return containText(session, command);
    case "find":
      return findTexts(session, command.wholeLines);
    case "leases":
      return showFailingLeases(session, command.retry);
    case "why":
      return explainRequest(session, command);
    case "doctor":
      return examine(session, command.copies, environment);
    case "audit":
      return showEvents(session, command);
    case "verify":
      return verifyStore(session);
    case "archive":
      return archiveAudit(session, command.directory);
    case "restore":
      return restoreFrom(session, command);
    case "preview":
      return previewRestore(session, command, Date.now());
    case "init":
      return initFromFile(session, command.file, token, environment);
    case "apply":
      return applyFile(session, command, environment);
    case "generate-root":
      return generateRoot(session, command.cancel, environment);
  }
}

function adviceOn(
  { status, message, fault }: CallFailure,
  command: GroveCommand,
  token: string,
  isValid: boolean | null,
): string {
  if (message.startsWith("no answer") && !message.includes(": try ")) return " (is VAULT_ADDR right?)";
  if (status === null) return "";
  // A revocation is a write, too. A server that is stopped accepts no token.
  if (fault === "disk_full")
    return ` (nothing can be contained meanwhile: make space, or stop the server; ${helpAsCalled("docs/runbook.md, The disk is full")})`;
  if (status === 404) return " (nothing is there, or the server is of an older release)";
  if (status !== 403 || command.kind === "generate-root") return "";
  if (token === "") return " (VAULT_TOKEN is not set)";
  if (message.includes("GROVE_INIT_TOKEN")) return "";
  if (command.kind === "restore") return " (VAULT_TOKEN has to be the GROVE_INIT_TOKEN of the deployment)";
  if (command.kind === "explain" && command.accessor === null)
    return " (VAULT_TOKEN is no token of this server, or has ended)";
  if (isValid === false) return ` (VAULT_TOKEN ${NOT_VALID})`;
  const more = needs(command.kind).startsWith("the capabilities") ? `; see ${asCalled("explain PATH")}` : "";
  return ` (VAULT_TOKEN needs ${needs(command.kind)}${isValid ? "" : ", or the token is not valid"}${more})`;
}

/** A valid token without the policy default can't look itself up. */
const NOT_VALID =
  "can't look itself up either: it is no token of this server, has ended, is bound to other networks, or lacks the policy default";

/** The rights that a command needs. */
function needs(kind: GroveCommand["kind"]): string {
  if (kind === "apply") return "read, create and update on what the file names, and sudo below sys/auth";
  if (kind === "preview") return "read and sudo on sys/tokens/ended and sys/leases/revocations";
  if (kind === "leases")
    return "read and sudo on sys/leases, with --retry update on sys/leases/revoke and sys/leases/lookup";
  if (AUDIT.has(kind)) return "the capabilities read, update and sudo on sys/audit/*";
  if (kind === "why") return "update and sudo on sys/explain/access, without a log read and sudo on sys/audit/events";
  if (kind === "explain") return "update and sudo on sys/explain/access for --accessor";
  if (READS.has(kind)) return "the capabilities read and sudo on sys/tokens*";
  return "the capabilities read, update and sudo on sys/tokens*";
}
