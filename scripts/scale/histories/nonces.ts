import type { AccessEntry } from "../../../src/methods/cloud/access-list/entry.ts";
import type { PresentedNonce } from "../../../src/methods/cloud/access-list/nonce.ts";
import { decideLogin } from "../../../src/methods/cloud/access-list/rules.ts";
import { Random } from "./random.ts";
import { Timeline } from "./timeline.ts";
import { Violation } from "./violation.ts";

const LENGTH_MS = 120_000;
/** The longest way from a client over an isolate to the object, and back (ms). */
const WAY_MS = 400;
/** How long a client waits for an answer before it repeats its login (ms). */
const REPEAT_MS = 1_000;
const HOUR_MS = 3_600_000;

/** The rule that decides about a login of an instance. */
export type DecideLogin = typeof decideLogin;

/** What happened in a history, for the page. */
export interface NonceCounts {
  readonly logins: number;
  readonly admitted: number;
  readonly crashes: number;
}

/**
 * Plays logins of one instance by its owner, who has a nonce, and by others who have a copy of its document; answers and objects get
 * lost on the way.
 *
 * @throws Violation when somebody else gets in beside the owner, the owner is locked out by a lost answer, or somebody gets in
 *   after the end of reauthentication.
 */
export function playNonces(seed: number, decide: DecideLogin = decideLogin): NonceCounts {
  const random = new Random(seed);
  const timeline = new Timeline();
  // On disk: what a crash leaves.
  let entry: AccessEntry | null = null;
  let holder: string | null = null;
  let isEnded = false;
  const counts = { logins: 0, admitted: 0, crashes: 0 };

  const enter = (nonce: PresentedNonce, who: string, answer: (admitted: boolean) => void) => {
    counts.logins++;
    timeline.after(random.below(WAY_MS), () => {
      const now = timeline.now;
      const login = {
        role: "machines",
        nonce,
        pendingTime: "",
        pendingTimeMs: 0,
        allowMigration: false,
        disallowReauthentication: false,
        expiresAt: now + HOUR_MS,
      };
      const decided = decide(entry, login, now);
      if (decided.ok) {
        counts.admitted++;
        if (isEnded) throw new Violation("nobody is let in after the end of reauthentication", now, { who });
        if (holder !== null && holder !== who)
          throw new Violation("one nonce counts for an instance", now, { holder, who });
        holder = who;
        isEnded = decided.value.nonceHash === null;
        entry = decided.value;
      }
      // The object, the isolate or the connection may end between the write and the answer.
      if (random.share() < 0.2) counts.crashes++;
      else timeline.after(random.below(WAY_MS), () => answer(decided.ok));
    });
  };

  const clients = ["owner", "somebody", "another"] as const;
  for (const who of clients) {
    const nonce: PresentedNonce = { kind: "sent", hash: btoa(`the nonce of ${who}`) };
    const log = () => {
      const ending = random.share() < 0.02;
      let isAnswered = false;
      const wasHolder = holder === who && !isEnded;
      const attempt = () =>
        enter(ending ? { kind: "none", reserved: false } : nonce, who, (admitted) => {
          isAnswered = true;
          const stillHolder = holder === who && !isEnded;
          if (!admitted && wasHolder && stillHolder && !ending) {
            throw new Violation("who knows the nonce is let in, also after a lost answer", timeline.now, { who });
          }
        });
      attempt();
      timeline.after(REPEAT_MS, () => {
        if (!isAnswered) attempt();
      });
      timeline.after(random.below(8_000), log);
    };
    timeline.after(random.below(1_000), log);
  }
  timeline.run(LENGTH_MS);
  return counts;
}
