import { ASKED_PATHS } from "../asked-paths.ts";
import { href, pathOf } from "../href.ts";
import { mayDo, type Session } from "../session.ts";
import type { Found } from "./search-result.ts";
import { refusalOfPath } from "./secret-in-address.ts";

/** A path of at least two segments, without a scheme. */
const PATH = /^[^\s/:]+(?:\/[^\s/]+)+\/?$/;

/** The list of the leases whose path begins with the text, as engines and `sys/leases/revoke-prefix` name it. */
export async function leasesBelow(session: Session, text: string): Promise<readonly Found[]> {
  if (!PATH.test(text) || !mayDo(session, ASKED_PATHS.leases, "list", "sudo")) return [];
  if ((await refusalOfPath(session, text)) !== "") return [];
  const folders = text.split("/").filter((part) => part !== "");
  const listed = await session.api.list(`sys/leases/lookup/${pathOf(...folders)}`);
  if (!listed.ok || listed.value.length === 0) return [];
  const prefix = `${folders.join("/")}/`;
  return [{ kind: "Lists", name: `Leases below ${prefix}`, detail: "", href: href(["leases"], { prefix }) }];
}
