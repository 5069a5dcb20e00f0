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
  | "creation in a tree that is taken again"
  | "login by a document"
  | "login by a document, batch token"
  | "login by a signed request"
  | "login by a signed request, batch token"
  | "sweep"
  | "clean-up"
  | "revocation"
  | "memory of a sweep"
  | "memory under load"
  | "pages"
  | "shards";

/** By builds that left one part out, in turns with the whole. */
const BY_DOCUMENT =
  "Without the new object, 30 % of a login's CPU is its entry in the access list (half of that the call to its object, half the row, its seal and the commit), 27 % asking the cloud for the instance by way of the object that lets logins share such calls (to hand over the function that asks costs nothing that can be measured), and the rest is what a batch token costs, with the document and its fields. The cloud that is asked runs on the same cores, and code that has run a few thousand times takes a third of what it takes in the first second. In turns with commit 61be60c of 2026-11-21, both after 2,000 logins, it is 0.48 of workerd's CPU of then, and 0.30 with a batch token.";

const BY_SIGNED_REQUEST =
  "Without the new object, in a profile of workerd's CPU 32 % is the runtime by itself, 47 % are calls into it (asking STS, once for each login, 13; keyed hashes and the seal 8; freeing memory 6; JSON 4) and 21 % Grove's own code, with checking the signed request. The cloud that is asked runs on the same cores. In turns with commit 61be60c of 2026-11-21, both after 2,000 logins, it is 0.72 of workerd's CPU of then, and 0.53 with a batch token.";

/** Why a target of this kind is missed, as far as it was measured. */
export function reasonOf(obstacle: Obstacle, report: Report): string {
  switch (obstacle) {
    case "look-up":
      return "the bare read answers a call with one short text. Here a request and its policies travel to the tree and twenty fields come back; they are judged, rendered and written to the audit log. In a profile the runtime and the call are a third, reading the row and writing the audit line a seventh each, and nothing else is more than a fifteenth.";
    case "batch look-up":
      return "the static answer is one comparison of a path. Reading the request, rendering twenty fields and the audit line are the rest, in about equal parts.";
    case "creation of a batch token":
      return "in a profile of workerd's CPU 35 % is the runtime by itself (sockets, HTTP, the turns of its loop, freeing memory), 41 % are calls into it (a keyed hash and the seal 10, making and sending the answer 6, JSON 5, the body 4, keeping the request alive when its client leaves 3, writing the audit lines 2, the rest in small parts) and 24 % Grove's own code, of which no function has more than a tenth. Left out of a build one by one, in turns with the whole (three times, give or take 4 %), sealing the token is 14 % of it, reading the body 11, the audit line before the request acts 8, and the keyed hash of the token in the line after it 7: nine tenths of what it takes more than a look-up, the rest being its fields and rules. The headers of the answer are 7 and keeping the request alive 4, as in a look-up. Four of its five system calls are writes: one for each audit line, and two of the runtime for head and body of the answer. A bare Worker that reads such a body and answers it takes a third of the whole, and a static answer a quarter. The other server writes no audit lines here.";
    case "renewal":
      return "in a profile of workerd's CPU 46 % is the runtime by itself, with the commit; 38 % are calls into it (the call to the tree 9, SQLite 6, making and sending the answer 5) and 16 % Grove's own code. One row is written in one commit; in a tree of several tokens it also has an entry in the index of expiry.";
    case "creation of a child":
      return "in a profile of workerd's CPU 39 % is the runtime by itself, with two commits and freeing memory; 41 % are calls into it (those to the tree and to the list 22, SQLite 14, making and sending the answer 3) and 19 % Grove's own code. By parts: the tree's step with the row and its seal is a fifth, telling the list of the token (reading its row once, the list's rows) a tenth, the request, its two keyed hashes and the audit lines a third. The two bare writes have no index, no seal, no body and no audit line.";
    case "creation of an orphan":
      return "a tree of its own is a new database file. Opening it is the runtime's work and waits for the disk four times, the first commit three times; a bare object that is opened and then does nothing takes three quarters of what the bare one with its table and row takes. Grove adds one table, one view and one row, on two pages. Without the view the CPU was 0.98 to 1.02 of that with it, in turns, so the statements are not what costs. The creator's tree is not asked where the process knows its token, and no second commit follows. The list hears of the token within a second, with those of the same second. Tokens that end give their files to those that come: see the two operations below.";
    case "creation in a tree that is taken again":
      return "the file is there, but the request, two keyed hashes, the seal of the row, the audit lines, the answer and the list's row are those of any creation, and a tree that sleeps is opened first. The bare write has none of them.";
    case "login by a document":
      return newObjectShare(report) + BY_DOCUMENT;
    case "login by a document, batch token":
      return BY_DOCUMENT;
    case "login by a signed request":
      return newObjectShare(report) + BY_SIGNED_REQUEST;
    case "login by a signed request, batch token":
      return BY_SIGNED_REQUEST;
    case "sweep":
      return "the sweep shares one thread with the look-ups. Traced while others used the machine too: a piece of it works for 1 to 3 ms (200 accessors of a list 1, the deletion of 400 rows 2, finding as many 3 to 5) and waits for one commit, which every thousand written pages also copies them from the log into the database; V8 stops the thread for 4 to 11 ms some four times a second, and for 25 to 70 ms every 3 to 6 s, with look-ups alone too. The runtime looks at its sockets only when everything that it has begun is done, so each look-up waits for the pieces that came before it.";
    case "clean-up":
      return "each tree is an object that has to wake, to be marked and to be swept, whatever it holds: in a trace of 1,000 trees of ten tokens nearly half of the time that the clean-up held the thread was the waking and marking. All of it shares one thread with the look-ups, and the runtime looks at its sockets only when everything that it has begun is done.";
    case "revocation":
      return "it is one sample of a few ms, and one call that writes one row, as for a leaf; what else waits for the disk at that moment decides. The rows read and written are the same for any number of descendants, which a test pins.";
    case "memory of a sweep":
      return "without look-ups beside it, the sweep of 60,000 takes the server from 84 to 166 MiB: V8's heap has 49 of them with 7 in use, the program's file 53, and the rest is native memory, of which SQLite's caches of the 16 lists and the tree may be some 30. It is not given back. Reading a list on an idle server takes as much.";
    case "memory under load":
      return "each object that is awake takes a quarter of a MiB, and what it leaves is kept for the next. The bare Worker, asked for nothing but new objects of one write, comes to 637 MiB after 4,300 objects and stays there; what counts is how many are awake within ten seconds.";
    case "shards":
      return "a page is put together from the 16 shards, each of which is asked for as many as the whole page may hold. With a thousand accessors a shard does not have that many; from a few thousand on it is flat.";
    case "pages":
      return "a page is found by counting blocks of at most 512 entries and then entries of one block: a list of a few blocks reads fewer. What grows is one row for each block before the page.";
  }
}

/** A login for a service token makes a tree, so it can't be faster than a new object is. */
function newObjectShare({ operations = [] }: Report): string {
  const of = (name: string) => median(rates(operations.find((one) => one.name === name)?.references ?? []));
  const [made, written] = [of("create-orphan"), of("login")];
  if (made === 0 || written === 0) return "a login makes a tree, which is a new object. ";
  return `a login makes a tree, which is a new object, and a bare new object alone reached ${(made / written).toFixed(2)} of the rate of two writes here. `;
}
