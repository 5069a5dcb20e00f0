import type { Api } from "../api.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { KeptRead } from "../kept-reads.ts";
import { done } from "../result.ts";
import { mayDo, type Session } from "../session.ts";
import type { Found } from "./search-result.ts";
import { groupsIn, namesIn } from "./searchable-names.ts";

const allNames = new KeptRead(async (api: Api) => done(await namesIn(api)));
const groupNames = new KeptRead(async (api: Api) => done(await groupsIn(api)));

/** Everything that can be found by name. Lists that the token may not read are skipped. */
export async function namesOf(session: Session, now: number): Promise<readonly Found[]> {
  const mayList = mayDo(session, ASKED_PATHS.groups, "list");
  const reads = [allNames, ...(mayList ? [groupNames] : [])].map((names) => names.read(session.api, now));
  return (await Promise.all(reads)).flatMap((answer) => (answer.ok ? answer.value : []));
}
