import { knownProblems } from "../../../audit/verify.ts";
import { auditBacklog } from "../../../audit/writer/isolate-writer.ts";
import { backupIntervalMs, backupRunsOf } from "../../../backup/bucket/backup-runs.ts";
import { currentTime, inTime, type Ms } from "../../../base/clock.ts";
import { storageFaults } from "../../../base/storage-faults.ts";
import { groveVersion } from "../../../base/version.ts";
import type { Env } from "../../../env.ts";
import { oidcIssuerOf } from "../../../issuer/oidc-issuer.ts";
import { countIrrevocable } from "../../../lease/queries.ts";
import { judged, type ListedToken } from "../../../listing/inventory/entry.ts";
import { NEVER_KEY } from "../../../listing/inventory/index-terms.ts";
import { countByMount, countOf, pageOfInventory } from "../../../listing/inventory/queries.ts";
import { publishRecent } from "../../../listing/updates/publish.ts";
import { ROOT_POLICY } from "../../../policy/policy-names.ts";
import type { Installation } from "../../../system/installation.ts";
import { sealKeyOf } from "../../../system/open-key-ring.ts";
import { systemOf } from "../../../system/system.ts";
import { isEnded, prefixOf } from "../../../system/watermarks.ts";
import { tidyOf } from "../../../tidy/tidy.ts";
import { failingObjects } from "../status.ts";
import { sumOfCounts } from "../tokens/token-view.ts";
import { countRetriedLeases } from "./failing-leases.ts";
import type { Finding, HealthState } from "./finding.ts";
import { sendHistory } from "./report-history.ts";
import { judgeAudit } from "./rules/audit.ts";
import { judgeBackups } from "./rules/backups.ts";
import { judgeIssuer, judgeKeys, judgeSealKey } from "./rules/keys.ts";
import { judgeLeases } from "./rules/leases.ts";
import { judgeDisk, judgeObjects, unreadFinding } from "./rules/objects-and-disk.ts";
import { judgeStorage } from "./rules/put-back.ts";
import { judgeFaults, judgeQuotas } from "./rules/requests.ts";
import { judgeClock, judgeNodes, judgeReleases } from "./rules/servers.ts";
import { judgeLists, judgeTidy } from "./rules/tidy-and-lists.ts";
import { judgeEndless, judgeRootTokens, type TokenFacts } from "./rules/tokens.ts";

/** The input of the checks. */
interface CheckContext {
  readonly env: Env;
  readonly installation: Installation;
  readonly now: Ms;
  /** The time by the client's clock; null when it was not sent. */
  readonly clientTime: Ms | null;
}

/** A check with its result. */
export interface CheckResult extends Finding {
  readonly name: string;
  readonly title: string;
}

type Facts = ReturnType<typeof factsOf>;

/** Facts that several checks need, each read once. Nothing is read before a check asks. */
function factsOf(context: CheckContext) {
  const { env, installation } = context;
  return {
    context,
    history: once(async () => {
      const traffic = await sendHistory(env, context.now);
      const kept = await tidyOf(env).history();
      return { ...kept, slots: [...kept.slots, { at: context.now, traffic, live: null }] };
    }),
    tidy: once(async () => tidyOf(env).status()),
    tokens: once(() => readTokens(env, installation)),
  };
}

type Check = readonly [name: string, title: string, check: (facts: Facts) => Finding | null | Promise<Finding | null>];

/** Every check of `sys/doctor`, in the order of the answer. A check returns null when it does not apply here. */
const CHECKS: readonly Check[] = [
  [
    "disk",
    "Disk",
    ({ context: { env, now } }) =>
      env.ONE_PROCESS === "true" || env.CLUSTER === "true" ? judgeDisk(storageFaults(), now) : null,
  ],
  ["objects", "Objects", async ({ context: { env } }) => judgeObjects(await failingObjects(env), storageFaults())],
  ["faults", "Faults of the last day", async ({ history }) => judgeFaults((await history()).slots, storageFaults())],
  [
    "cluster",
    "Nodes of the cluster",
    async ({ history, context: { env, now } }) =>
      env.CLUSTER === "true" ? judgeNodes((await history()).nodes, now) : null,
  ],
  [
    "releases",
    "Release",
    async ({ history, context: { env } }) => {
      const { release, nodes } = await history();
      return judgeReleases(groveVersion(env), [release, ...nodes.map((node) => node.release)]);
    },
  ],
  ["clock", "Clock", ({ context: { now, clientTime } }) => judgeClock(now, clientTime)],
  ["backups", "Backups", async ({ context: { env, now } }) => judgeBackups(await readBackups(env), now)],
  [
    "audit",
    "Audit log",
    async ({ context: { env } }) => {
      const backlog = auditBacklog();
      const isStored = env.AUDIT_STORE !== "off";
      // Without the store, or while it does not answer, its objects are not asked.
      const [lost, notes] =
        isStored && backlog.since === null
          ? await Promise.all([knownProblems(env), systemOf(env).auditBacklogs()])
          : [[], []];
      return judgeAudit({ isStored, lost, notes, ...backlog });
    },
  ],
  [
    "leases",
    "Leases",
    async ({ context: { env, now } }) => {
      const [irrevocable, lately] = await Promise.all([countIrrevocable(env), countRetriedLeases(env, now)]);
      return judgeLeases(sumOfValues(irrevocable), lately);
    },
  ],
  [
    "tidy",
    "Tidy",
    async ({ tidy, context: { now } }) => {
      const { last } = await tidy();
      const { failures = 0, tampered = 0 } = last?.report ?? {};
      return judgeTidy({ lastAt: last?.finishedAt ?? null, failures, tampered }, now);
    },
  ],
  ["lists", "Lists", async ({ tidy, context: { now } }) => judgeLists((await tidy()).shards, now)],
  [
    "storage",
    "Storage",
    async ({ tidy, context: { env, now } }) => {
      const { revived, since } = (await tidy()).shards;
      // A Tidy object that runs 1.0.0-rc.1 does not report `revived`.
      const system = await tidyOf(env).systemPutBack();
      const old = storageFaults().oldData;
      const isRevokedSince = old !== null && (await isAllRevoked(env, old.servedAt));
      return judgeStorage({ revived: revived ?? 0, since, system, old, isRevokedSince }, now);
    },
  ],
  [
    "seal_key",
    "Seal key",
    ({ context: { env, installation } }) => {
      const current = sealKeyOf(env);
      const version = current.ok ? current.value.version : null;
      return judgeSealKey(installation.sealKeyVersion, version, Boolean(env.GROVE_SEAL_KEY_PREVIOUS));
    },
  ],
  [
    "keys",
    "Keys",
    async ({ context: { env, installation, now } }) => {
      const { terms } = installation.keys;
      const [{ version: term, installedAt }] = terms;
      const { settings } = await systemOf(env).keyUse(term);
      const { enabled: isAutomatic, interval } = settings;
      return judgeKeys({ term, installedAt, kept: terms.length, isAutomatic, interval }, now);
    },
  ],
  [
    "issuer",
    "Signing keys",
    async ({ context: { env, now } }) => judgeIssuer(await oidcIssuerOf(env).firstRotation(), now),
  ],
  ["root_tokens", "Root tokens", async ({ tokens }) => judgeRootTokens(await tokens())],
  ["endless_tokens", "Tokens without an end", async ({ tokens }) => judgeEndless(await tokens())],
  [
    "quotas",
    "Quotas",
    async ({ history, context: { installation } }) =>
      judgeQuotas((await history()).slots, installation.quotas.isExempt("sys/health")),
  ],
];

/** Time within which the facts of a check have to be read. */
const CHECK_MS: Ms = 10_000;

/** Makes all checks at the same time. A check whose facts can't be read is `unknown` and does not affect the others. */
export async function checkAll(context: Omit<CheckContext, "now">): Promise<CheckResult[]> {
  const facts = factsOf({ ...context, now: currentTime() });
  const results = await Promise.all(
    CHECKS.map(async ([name, title, check]): Promise<CheckResult | null> => {
      try {
        const finding = await inTime(Promise.resolve(check(facts)), CHECK_MS);
        return finding && { name, title, ...finding };
      } catch (error) {
        console.error(JSON.stringify({ type: "doctor", check: name, error: String(error) }));
        return { name, title, ...unreadFinding(storageFaults()) };
      }
    }),
  );
  return results.filter((result) => result !== null);
}

/** The worst state of all: `failing`, then `attention`. What is unknown is no reason to act. */
export function worstOf(results: readonly CheckResult[]): HealthState {
  const has = (state: HealthState) => results.some((result) => result.state === state);
  return has("failing") ? "failing" : has("attention") ? "attention" : "ok";
}

async function readBackups(env: Env) {
  const { last, lastGood, elsewhereAt } = await backupRunsOf(env).status();
  return {
    hasBucket: env.BACKUPS !== undefined,
    intervalMs: backupIntervalMs(env),
    lastGoodAt: lastGood?.startedAt ?? null,
    lastError: last?.state === "failed" ? last.error : null,
    elsewhereAt,
  };
}

/** Maximum number of root tokens that are counted. */
const MAX_ROOT_TOKENS = 1000;

async function readTokens(env: Env, { watermarks }: Installation): Promise<TokenFacts> {
  const now = currentTime();
  await publishRecent(env, now);
  const order = { by: "created", descending: false } as const;
  const query = { filter: { policy: ROOT_POLICY }, order, after: null, limit: MAX_ROOT_TOKENS, now };
  const page = await pageOfInventory(env, query);
  // What a watermark has ended is listed until it is cleaned up.
  const tokens = page.tokens.filter((token) => !isEnded(watermarks, "open", judged(token)));
  const endlessIn = (list: readonly ListedToken[]) => list.filter(({ expiresAt }) => expiresAt === null).length;
  const endlessRoot = endlessIn(tokens);
  const endless = (await countOf(env, "end_hour", [NEVER_KEY])).get(NEVER_KEY) ?? 0;
  return {
    root: tokens.length,
    endlessRoot,
    more: page.next !== null,
    endless: endless - endlessIn(page.tokens) + endlessRoot,
    total: sumOfCounts(await countByMount(env, "tokens")),
  };
}

function sumOfValues(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function once<T>(read: () => Promise<T>): () => Promise<T> {
  let begun: Promise<T> | null = null;
  return () => {
    begun ??= read();
    return begun;
  };
}

/** True when all tokens of all methods were revoked after `time`. */
async function isAllRevoked(env: Env, time: Ms): Promise<boolean> {
  const marks = await systemOf(env).watermarks();
  return marks.some(({ scope, madeAt }) => prefixOf(scope) === "auth/" && madeAt > time);
}
