import { useEffect, useState } from "preact/hooks";
import type { RevocationJobs } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { ASKED_PATHS } from "../asked-paths.ts";
import { requestsBeginning } from "../audit/find-requests.ts";
import { errorHref, requestInError } from "../audit/pasted-error.ts";
import { beginningText, isAddress, isPartOfId, isRequestId } from "../audit/request-id.ts";
import { href } from "../href.ts";
import { KeptRead } from "../kept-reads.ts";
import { NAV } from "../nav.ts";
import { needsOf, refusalOf } from "../needed-capabilities.ts";
import { mayBeToken } from "../secret-detection.ts";
import { mayDo, type Session, useSession } from "../session.ts";
import { MIN_SEARCH } from "../tokens/filter.ts";
import { credentialWithEvents } from "./credential-events.ts";
import { cutKinds } from "./cut-lists.ts";
import { endedByText, textItself, tokensByText } from "./find-tokens.ts";
import { type Asked, isSearching } from "./is-searching.ts";
import { namesOf } from "./kept-names.ts";
import { leasesBelow } from "./leases-below.ts";
import { refusedWithError } from "./refused-with-error.ts";
import { roleWithId } from "./role-with-id.ts";
import { type Found, type Kind, matching, SHOWN_OF_KIND } from "./search-result.ts";
import { refusalOfPath } from "./secret-in-address.ts";
import { type Itself, NOTHING } from "./text-result.ts";

/** Pause in typing before the server is asked (ms). */
const PAUSE_MS = 180;

const PAGES: readonly Found[] = NAV.flatMap(({ items }) => items).map(({ name, label, words = "" }) => ({
  kind: "Pages",
  name: label,
  detail: words,
  href: href(name === "" ? [] : [name]),
}));

export interface Search {
  readonly found: readonly Found[];
  /** The server's answer about the whole text; "" when it was not asked. */
  readonly note: string;
  /** Why the policies refuse to look for tokens; "" when they do not. */
  readonly refusal: string;
  /** The kinds whose names were not all searched. */
  readonly cut: readonly Kind[];
  /** True while the answer for the typed text is pending. */
  readonly busy: boolean;
}

/**
 * Results for the typed text. The text may be a token in any form. Only if the server does not know it as a token, URLs
 * may contain it, for searches and in links of results.
 *
 * @param isWhole true for pasted text, which is complete
 */
export function useSearch(text: string, isWhole: boolean): Search {
  const session = useSession();
  const { api } = session;
  const [names, setNames] = useState<readonly Found[] | null>(null);
  const [tokens, setTokens] = useState<Asked>({ ...NOTHING, text: "" });
  useEffect(() => {
    namesOf(session, Date.now()).then(setNames);
  }, [api]);
  const refusal = refusalOf([ASKED_PATHS.tokens, "read", "sudo"], session.capabilities.of(ASKED_PATHS.tokens));
  const mayList = refusal === "";
  useEffect(() => {
    if (text === "") return;
    let isOld = false;
    const ask = async (): Promise<void> => {
      const refused = await eventsOfError(session, text);
      if (isOld) return;
      if (refused) return setTokens({ ...refused, text });
      const itself = mayBeToken(text) ? await textItself(session, text) : NOTHING;
      if (isOld) return;
      if (itself.isKept || itself.found.length > 0) return setTokens({ ...itself, text });
      // An id that nothing is known by may be a secret-id, and the list of tokens would be asked for it in a URL.
      const searched = mayList && !isRequestId(text) ? await tokensByText(session, text) : NOTHING;
      const ended = searched.found.length === 0 ? await endedByText(session, text) : [];
      const { ids, note } = await idsOf(session, text);
      const hasNone = searched.found.length === 0 && ids.length === 0;
      const byId = hasNone
        ? await Promise.all([
            credentialWithEvents(session, text),
            roleWithId(session, text),
            leasesBelow(session, text),
            refusedWithError(session, text),
          ])
        : [];
      const others = [...addressOf(session, text), ...byId.flat()];
      if (isOld) return;
      const tokens = [...listOf(text, searched.found), ...searched.found, ...ended];
      const found = searched.isKept ? [] : [...ids, ...others, ...tokens];
      setTokens({ ...searched, text, found, note: searched.note || (others.length > 0 ? "" : note) });
    };
    const timer = window.setTimeout(ask, isWhole ? 0 : PAUSE_MS);
    return () => {
      isOld = true;
      window.clearTimeout(timer);
    };
  }, [session.api, text, isWhole, mayList]);
  if (text === "") return { found: PAGES, note: "", refusal, cut: [], busy: false };
  // The previous results stay until the next answer, so that the list does not jump.
  const busy = isSearching(tokens, text, names);
  const named = matching([...(names ?? []), ...PAGES], text);
  const isKnown = isRequestId(text) && named.length > 0;
  return {
    found: [...tokens.found, ...named],
    note: busy || isKnown ? "" : tokens.note,
    refusal,
    cut: cutKinds(names ?? []),
    busy,
  };
}

/** The events from an address. */
const addressOf = (session: Session, text: string): readonly Found[] =>
  isAddress(text) && mayDo(session, ASKED_PATHS.audit, "read", "sudo")
    ? [
        {
          kind: "Lists",
          name: `Events from ${text}`,
          detail: "in the audit log",
          href: href(["audit"], { address: text }),
        },
      ]
    : [];

const NOT_SERVED = "No endpoint has this path: Grove is a token authority, and has no secret engines.";

/** The events of the request that a pasted error names; null when it names none, or its path may have a secret. */
async function eventsOfError(session: Session, text: string): Promise<Itself | null> {
  const request = requestInError(text);
  if (!request || (await refusalOfPath(session, request.path)) !== "") return null;
  if (!request.isServed) return { ...NOTHING, note: NOT_SERVED };
  const name = `${request.kind === "" ? "Events" : "Refusals"} at ${request.path}`;
  return { ...NOTHING, found: [{ kind: "Lists", name, detail: "in the audit log", href: errorHref(request) }] };
}

/** The receipts and the requests with this id, or with an id that begins with it. */
async function idsOf(
  session: Session,
  text: string,
): Promise<{ readonly ids: readonly Found[]; readonly note: string }> {
  const isWhole = isRequestId(text);
  if (!isWhole && !isPartOfId(text)) return { ids: [], note: "" };
  const receipts = await receiptsBeginning(session, text);
  if (isWhole && receipts.length > 0) return { ids: receipts, note: "" };
  const begun = mayDo(session, ASKED_PATHS.audit, "read", "sudo") ? await requestsBeginning(session, text) : null;
  const requests = begun?.ok ? begun.value : [];
  const older = isWhole && requests.length === 0 ? await olderReceipt(session, text) : [];
  const ids = [...receipts, ...older, ...requests.slice(0, SHOWN_OF_KIND).map(requestOf)];
  if (isWhole) return { ids, note: ids.length === 0 ? NO_REQUEST : "" };
  const isUnclear = begun?.ok === true && (ids.length === 0 || requests.length > SHOWN_OF_KIND);
  return { ids, note: isUnclear ? beginningText(requests.length) : "" };
}

/** The note about a whole id that belongs to no known request. It may be a secret, so no URL may contain it. */
const NO_REQUEST =
  "No request is known by this id. It may be a secret-id, so no address gets it. The field of the audit log says where to find a request that is not stored.";

const lastJobs = new KeptRead((api: Api) => api.read<RevocationJobs>(ASKED_PATHS.jobs));

/** The last revocations whose id begins with the text. Their list is read, since the text may be a secret. */
async function receiptsBeginning(session: Session, text: string): Promise<readonly Found[]> {
  if (!mayDo(session, ASKED_PATHS.jobs, "read", "sudo")) return [];
  const answer = await lastJobs.read(session.api, Date.now());
  const jobs = answer.ok ? answer.value.jobs.filter(({ id }) => id.startsWith(text.toLowerCase())) : [];
  return jobs.slice(0, SHOWN_OF_KIND).map(({ id }) => receiptOf(id));
}

/**
 * The receipt of an older revocation, which is in no list: the tokens that it ended are known for longer. The id is sent
 * in a body, since it may be a secret.
 */
async function olderReceipt(session: Session, id: string): Promise<readonly Found[]> {
  const needs = needsOf(ASKED_PATHS.verifyEnded);
  // Without these rights the receipt can't be read either.
  if (!mayDo(session, ...needs) || !mayDo(session, ASKED_PATHS.jobs, "read", "sudo")) return [];
  const job = id.toLowerCase();
  const answer = await session.api.call(ASKED_PATHS.verifyEnded, { body: { job } });
  return answer.ok ? [receiptOf(job)] : [];
}

const receiptOf = (id: string): Found => ({
  kind: "Receipts",
  name: `Receipt ${id}`,
  detail: "of a revocation: what ended, with proof",
  href: href(["receipts", id]),
});

const requestOf = (id: string): Found => ({
  kind: "Requests",
  name: `Request ${id}`,
  detail: "who asked for what, and why it was refused",
  href: href(["requests", id]),
});

/** The list of all tokens that match the text. */
const listOf = (text: string, tokens: readonly Found[]): readonly Found[] =>
  tokens.length === 0 || text.length < MIN_SEARCH
    ? []
    : [{ kind: "Lists", name: `All tokens with “${text}”`, detail: "", href: href(["tokens"], { search: text }) }];
