import { median } from "../statistics.ts";
import type { Report } from "./report.ts";
import { rates } from "./verdicts.ts";

/** What a target is about, where a reason is known that can keep it from being met. */
export type Obstacle =
  | "look-up"
  | "batch look-up"
  | "creation of a batch token"
  | "renewal"
  | "creation of a child"
  | "creation of an orphan"
  | "login"
  | "sweep"
  | "revocation"
  | "memory of a sweep"
  | "memory under load"
  | "pages"
  | "shards";

/** Why a target of this kind is missed, as far as it was measured. */
export function reasonOf(obstacle: Obstacle, report: Report): string {
  switch (obstacle) {
    case "look-up":
      return "the bare read answers a call with one short text. Here a request and its policies travel to the tree and twenty fields come back; they are judged, rendered and written to the audit log. In a profile the runtime and the call are a third, reading the row and writing the audit line a seventh each, and nothing else is more than a fifteenth.";
    case "batch look-up":
      return "the static answer is one comparison of a path. Reading the request, rendering twenty fields and the audit line are the rest, in about equal parts.";
    case "creation of a batch token":
      return "in a profile of workerd's CPU 36 % is the runtime by itself (sockets, HTTP, the turns of its loop, freeing memory), 42 % are calls into it (making and sending the answer 7, JSON 5, keyed hashes and the seal 5, keeping the request alive when its client leaves 3, the body 3, the rest in small parts) and 22 % Grove's own code, of which no function has more than a tenth. The other server writes no audit lines here.";
    case "renewal":
      return "in a profile of workerd's CPU 46 % is the runtime by itself, with the commit; 38 % are calls into it (the call to the tree 9, SQLite 6, making and sending the answer 5) and 16 % Grove's own code. One row is written in one commit; in a tree of several tokens it also has an entry in the index of expiry.";
    case "creation of a child":
      return "each of the two writes has an index to keep, and drawing the token's two ids takes two keyed hashes and their random bytes.";
    case "creation of an orphan":
      return "the new object itself costs what the bare one does (traced: seven waits for the disk and 13 kB). The creator's tree is asked before, and the accessor is listed in another object meanwhile, which waits for the disk once more.";
    case "login":
      return `${newObjectShare(report)}Besides, the client's document is parsed and its signature verified (1.5 to 2 ms of the Worker's time in a profile), and the cloud that is asked runs on the same cores.`;
    case "sweep":
      return "the sweep shares one thread and one disk with the look-ups; it is done in pieces of some ms with a pause after each, so that a look-up waits for one piece and its commits at most.";
    case "revocation":
      return "it is one sample of a few ms, and one call that writes one row, as for a leaf; what else waits for the disk at that moment decides. The rows read and written are the same for any number of descendants, which a test pins.";
    case "memory of a sweep":
      return "not found out. Memory rises by as much when an idle server is only asked to list accessors, and does not go on rising with the number of descendants, which speaks for the heap of the isolate finding its size.";
    case "memory under load":
      return "what the runtime keeps of objects that were: memory rises by some 5 kB for each tree made. The bare Worker, asked for nothing but new objects of one write, rises by 7 kB for each (735 MiB after 2,900 objects, 869 after 21,700) and gives a tenth back when it idles.";
    case "shards":
      return "a page is put together from the 16 shards, each of which is asked for as many as the whole page may hold. With a thousand accessors a shard does not have that many; from a few thousand on it is flat.";
    case "pages":
      return "a page is found by counting blocks of at most 512 entries and then entries of one block: a list of a few blocks reads fewer. What grows is one row for each block before the page.";
  }
}

/** A login by document makes a tree, so it can't be faster than a new object is. */
function newObjectShare({ operations = [] }: Report): string {
  const of = (name: string) => median(rates(operations.find((one) => one.name === name)?.references ?? []));
  const [made, written] = [of("create-orphan"), of("login")];
  if (made === 0 || written === 0) return "a login makes a tree, which is a new object. ";
  return `a login makes a tree, which is a new object, and a bare new object alone reached ${(made / written).toFixed(2)} of the rate of two writes here. `;
}
