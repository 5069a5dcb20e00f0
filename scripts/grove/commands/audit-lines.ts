import { asCalled } from "../../local/command-line.ts";
import type { AuditEvent, AuditEvents, MadeToken } from "../answer-schemas.ts";
import { prose } from "../prose.ts";
import { harmless, renderTable, styled, type Terminal } from "../terminal.ts";
import { number, preciseTime, shortAccessor } from "./token-lines.ts";

/**
 * Shortens accessors to their ends for a terminal, and remembers the whole accessors. A file or pipe gets them whole.
 */
export class ShownAccessors {
  readonly #terminal: Terminal;
  readonly #shown = new Map<string, string>();

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** The text that is shown for an accessor. */
  readonly name = (accessor: string): string => {
    if (this.#terminal.columns === null) return accessor;
    const short = shortAccessor(accessor);
    if (short !== accessor) this.#shown.set(accessor, short);
    return short;
  };

  /**
   * The accessors that were shortened, whole, each on its own line to be copied.
   *
   * @param known accessors that are shown whole elsewhere.
   */
  lines(known: ReadonlySet<string>): string[] {
    const wanted = [...this.#shown].filter(([accessor]) => !known.has(accessor));
    if (wanted.length === 0) return [];
    const whole = wanted.map(([accessor, short]) => harmless(`${short}  ${accessor}`));
    return ["", styled(this.#terminal, "bold", "Accessors:"), ...whole];
  }
}

const HEAD = ["TIME", "RESULT", "REQUEST", "BY", "FROM", "ABOUT", "REQUEST ID"];

/**
 * Events, the newest first. A terminal gets two or more lines for each event, in which nothing is cut: first the time,
 * the result and the request; below, the token, the subject and the id of the request.
 *
 * @param names of entities, by id.
 */
export function eventLines(
  terminal: Terminal,
  events: readonly AuditEvent[],
  accessors: ShownAccessors,
  names: ReadonlyMap<string, string> = new Map(),
): string[] {
  if (events.length === 0) return [];
  const all = events.map((event) => factsOf(event, accessors.name, names));
  if (terminal.columns !== null) return narrowLines(terminal, all);
  const rows = all.map(({ time, result, request, by, from, about, error, id }) =>
    [time, result, request, by, from, [...about, error].filter((part) => part !== "").join(", "), id].map(harmless),
  );
  return renderTable(terminal, HEAD, rows);
}

const INDENT = "    ";

function narrowLines(terminal: Terminal, events: readonly ReturnType<typeof factsOf>[]): string[] {
  const width = Math.max(...events.map(({ result }) => result.length), "RESULT".length);
  const start = (time: string, result: string) => `${time.slice("2026-".length)}  ${result.padEnd(width)}  `;
  const head = `${"TIME".padEnd("11-22 01:02:03Z".length)}  ${"RESULT".padEnd(width)}  REQUEST`;
  const lines = events.flatMap(({ time, result, request, by, from, about, error, id }) => {
    const details = [from && `from ${from}`, by && `by ${by}`, ...about, error, id && `request ${id}`];
    const below = details.filter((part) => part !== "").join(", ");
    return [
      ...prose(terminal, harmless(request), INDENT, start(harmless(time), harmless(result))),
      ...(below === "" ? [] : prose(terminal, harmless(below), INDENT)),
    ];
  });
  return [styled(terminal, "bold", head), ...lines];
}

function factsOf(event: AuditEvent, name: (accessor: string) => string, names: ReadonlyMap<string, string>) {
  const { kind, type, time, operation, path, auth, status = 0, client_address: address, request_id: request } = event;
  return {
    time: preciseTime(time),
    result: status < 400 ? kind : `${kind} ${status}`,
    request: path === undefined ? type : `${operation} ${path}`,
    by: auth ? `${name(auth.accessor)} ${auth.display_name}`.trim() : "",
    from: address ?? "",
    about: aboutTexts(event, name, names),
    error: event.error ?? "",
    id: request ?? "",
  };
}

/** The accessor of a secret-id: a UUID. The accessor of a token is longer. */
export const SECRET_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** What the request made, ended or was about. */
function aboutTexts(
  event: AuditEvent,
  name: (accessor: string) => string,
  names: ReadonlyMap<string, string>,
): string[] {
  const { response, target_accessor: target, target_accessors: targets = [], target_entities: entities = [] } = event;
  const { role, principal, count, revocation, holder_accessor: holder } = event;
  const made = response?.auth;
  return [
    made && ["made", name(made.accessor), made.display_name].filter((word) => word !== "").join(" "),
    revocation && revocationText(revocation),
    target && (SECRET_ID.test(target) ? `secret-id ${target}` : `token ${name(target)}`),
    holder && `lease of token ${name(holder)}`,
    targets.length > 0 && targets.map(name).join(" "),
    entities.length > 0 && `entity ${entities.map((id) => `${names.get(id) ?? ""} ${id}`.trim()).join(" ")}`,
    role && `role ${role}`,
    principal,
    count !== undefined && String(count),
  ].filter((part): part is string => typeof part === "string" && part !== "");
}

/** A revocation of many tokens, or its count, which changed nothing; and the command that shows the receipt. */
function revocationText({ dry_run: isDry, total, job }: NonNullable<AuditEvent["revocation"]>): string {
  const tokens = total === undefined ? "" : number(total, "token");
  if (isDry) return ["counted what would end", tokens].filter((part) => part !== "").join(": ");
  const ended = tokens === "" ? "began to end tokens" : `ended ${tokens}`;
  return job === undefined ? ended : `${ended}: ${asCalled(`contain --job ${job}`)}`;
}

/** Reads by hour and address, and by token when there are several. A terminal gets lines in which nothing is cut. */
export function useLines(
  terminal: Terminal,
  uses: NonNullable<AuditEvents["uses"]>,
  below: readonly MadeToken[] | undefined,
  accessors: ShownAccessors,
): string[] {
  const names = new Map(below?.map((token) => [token.accessor, token.display_name]));
  const nameOf = (accessor: string) => `${accessors.name(accessor)} ${names.get(accessor) ?? ""}`.trim();
  const all = uses.map(({ hour, last, address, count, accessor = "" }) => {
    const facts = { hour: preciseTime(hour), last: preciseTime(last), count: String(count), from: address ?? "-" };
    return { ...facts, ...(below && { by: nameOf(accessor) }) };
  });
  if (terminal.columns === null) {
    const head = ["READS IN THE HOUR", "LAST", "COUNT", "FROM", ...(below ? ["BY"] : [])];
    return renderTable(
      terminal,
      head,
      all.map((facts) => Object.values(facts).map(harmless)),
    );
  }
  const lines = all.flatMap(({ hour, last, count, from, by }) => {
    const facts = `${count} from ${from}${by === undefined ? "" : ` by ${by}`}, the last at ${last}`;
    return prose(terminal, harmless(facts), INDENT, `${hour}  `);
  });
  return [styled(terminal, "bold", "READS IN THE HOUR"), ...lines];
}
