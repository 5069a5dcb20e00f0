import type { WatermarkRevocations } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { readEvents } from "../audit/read-events.ts";
import { type Answer, done } from "../result.ts";

type Revocation = WatermarkRevocations["revocations"][number];

/** A request that ended all tokens of an entity, of a path or since a time. */
export interface KnownRevocation extends Revocation {
  /** The time of the answer in its event. null: the event can't be read. */
  readonly answered: string | null;
}

/** The newest of these revocations that `isMeant` accepts; null without one, or when its watermark has expired. */
export async function readRevocation(
  api: Api,
  isMeant: (revocation: Revocation) => boolean,
  readsEvents: boolean,
): Promise<Answer<KnownRevocation | null>> {
  const revocations = await api.read<WatermarkRevocations>(ASKED_PATHS.revocations);
  if (!revocations.ok) return revocations;
  const own = revocations.value.revocations.find(isMeant);
  if (!own) return done(null);
  const isKnown = readsEvents && own.request_id !== "";
  // The time of the event, so that the receipt and the timeline show the same time.
  const event = isKnown ? await readEvents(api, { request_id: own.request_id, limit: 1 }) : null;
  const answered = event?.ok ? (event.value.events[0]?.time ?? null) : null;
  return done({ ...own, answered });
}

/** True while the clean-up still removes tokens. An entity's are counted, and another run may have removed them. */
export const isCleaningUp = ({ entity_id: entity, clean_up: state, tokens_left: left }: Revocation): boolean =>
  entity === undefined ? state !== "finished" : (left ?? 0) > 0;
