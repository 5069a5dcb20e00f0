import { EndsOfTokens } from "./ends.ts";
import { type HistoryEvent, latestEffect, type Receipt, type Use } from "./history.ts";

/**
 * Finds answers that no correct server can give:
 * - a token is accepted after the answer to a revocation of it or of an ancestor, or to a watermark that ends it or an
 * ancestor;
 * - a token is refused although no request can have ended it: a write was lost;
 * - a token is accepted after it was refused, and no watermark is being made: it was resurrected;
 * - a token with limited uses is accepted more often, or refused before its uses can be used up;
 * - one nonce gives two tokens;
 * - a complete receipt lacks a token that was alive in its group, and listed, when the revocation began.
 *
 * @returns a message for each violation
 */
export function violationsOf(history: readonly HistoryEvent[]): string[] {
  const ends = new EndsOfTokens(history);
  const uses = Map.groupBy(
    history.filter((event) => event.kind === "use"),
    ({ token }) => token,
  );
  const ofTokens = [...uses].flatMap(([token, of]) => [
    ...staleAcceptances(ends, token, of),
    ...resurrections(ends, token, of),
    ...lostWrites(ends, token, of),
    ...extraUses(ends, token, of),
  ]);
  const receipts = history.filter((event) => event.kind === "receipt");
  return [...ofTokens, ...repeatedNonces(history), ...receipts.flatMap((receipt) => missing(ends, history, receipt))];
}

function staleAcceptances(ends: EndsOfTokens, token: string, uses: readonly Use[]): string[] {
  const certain = ends.of(token).filter(({ end }) => Number.isFinite(end));
  return uses.flatMap((use) => {
    const end = use.accepted ? certain.find((one) => use.begin > one.end) : undefined;
    return end ? [`${token} is accepted at ${use.begin}, after ${end.by} was answered at ${end.end}`] : [];
  });
}

function resurrections(ends: EndsOfTokens, token: string, uses: readonly Use[]): string[] {
  const refused = Math.min(...uses.filter(({ accepted }) => accepted === false).map(latestEffect));
  // The object of its tree can move to a node that does not know yet of a watermark that is being made.
  const isMixed = (at: number) => ends.of(token).some(({ begin, mixedUntil }) => begin < refused && at < mixedUntil);
  const later = uses.find(({ accepted, begin }) => accepted === true && begin > refused && !isMixed(begin));
  return later ? [`${token} is accepted at ${later.begin}, after it was refused at ${refused}`] : [];
}

function lostWrites(ends: EndsOfTokens, token: string, uses: readonly Use[]): string[] {
  const creation = ends.creation(token);
  if (creation?.end == null || creation.uses !== null) return [];
  const created = creation.end;
  const earliest = Math.min(Number.POSITIVE_INFINITY, ...ends.of(token).map(({ begin }) => begin));
  const lost = uses.find((use) => use.accepted === false && use.begin > created && latestEffect(use) < earliest);
  return lost ? [`${token} is refused at ${lost.begin}, though nothing had ended it`] : [];
}

function extraUses(ends: EndsOfTokens, token: string, uses: readonly Use[]): string[] {
  const limit = ends.creation(token)?.uses ?? null;
  if (limit === null) return [];
  const accepted = uses.filter((use) => use.accepted === true).length;
  if (accepted > limit) return [`${token} is accepted ${accepted} times, its limit is ${limit}`];
  const earliest = Math.min(Number.POSITIVE_INFINITY, ...ends.of(token).map(({ begin }) => begin));
  const refused = uses.find((use) => use.accepted === false && latestEffect(use) < earliest);
  if (refused === undefined) return [];
  // Each request that was sent before the refusal can have taken at most one use.
  const taken = uses.filter((use) => use.accepted !== false && use.begin < latestEffect(refused)).length;
  return taken < limit ? [`${token} is refused after ${taken} of ${limit} uses`] : [];
}

function repeatedNonces(history: readonly HistoryEvent[]): string[] {
  const logins = history.flatMap((event) => (event.kind === "create" && event.nonce !== null ? [event] : []));
  return [...Map.groupBy(logins, ({ nonce }) => nonce)].flatMap(([nonce, of]) => {
    const tokens = new Set(of.map(({ token }) => token));
    return tokens.size > 1 ? [`the nonce ${nonce} gave ${tokens.size} tokens`] : [];
  });
}

function missing(ends: EndsOfTokens, history: readonly HistoryEvent[], receipt: Receipt): string[] {
  const listed = new Set(receipt.ended);
  return history.flatMap((event) => {
    if (event.kind !== "create" || !event.groups.includes(receipt.group) || listed.has(event.token)) return [];
    if (latestEffect(event) >= receipt.listedUpTo) return [];
    // If something else can have ended the token by then, it need not be in the receipt.
    const endsBefore = ends.of(event.token).some(({ begin }) => begin < latestEffect(receipt));
    const isUsedUp = event.uses !== null;
    return endsBefore || isUsedUp ? [] : [`the receipt of ${receipt.group} lacks ${event.token}`];
  });
}
