import type { Socket } from "node:net";
import { Histogram, type LatencySummary } from "../statistics.ts";
import { connectTo, hostOf, type Place } from "./place.ts";
import { type LoadRequest, renderRequest, usesKeptToken } from "./request.ts";
import { type LoadResponse, ResponseReader } from "./response-reader.ts";

/** Connections that each send a list of requests, one after the other, again and again. */
export interface LoadStream {
  readonly connections: number;
  readonly requests: readonly LoadRequest[];
  /** True to begin every connection at another place of the list. Not for lists that keep tokens. */
  readonly spread?: boolean;
}

/** A load on one server. */
export interface LoadJob {
  readonly place: Place;
  readonly seconds: number;
  readonly streams: readonly LoadStream[];
}

/** What became of the requests with one label. */
export interface LabelResult {
  /** Answers. */
  readonly count: number;
  /** Answers by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** 503 answers that did not say when to come again. */
  readonly withoutRetryAfter: number;
  readonly latencyMs: LatencySummary;
}

/** What became of a load. */
export interface LoadResult {
  readonly seconds: number;
  readonly labels: Readonly<Record<string, LabelResult>>;
  /** Connections that were lost with a request under way, and those that could not be opened. */
  readonly lost: number;
}

/** A connection that cannot be opened is tried again after this. */
const RECONNECT_MS = 50;
/** What is still under way this long after the time is over counts as lost: a hanging server must not hang the bench. */
const GIVE_UP_MS = 60_000;

class Label {
  readonly histogram = new Histogram();
  readonly statuses: Record<string, number> = {};
  withoutRetryAfter = 0;

  count(response: LoadResponse, ms: number): void {
    this.histogram.record(ms);
    this.statuses[response.status] = (this.statuses[response.status] ?? 0) + 1;
    if (response.status === 503 && !response.retryAfter) this.withoutRetryAfter++;
  }

  result(): LabelResult {
    const { histogram, statuses, withoutRetryAfter } = this;
    return { count: histogram.count, statuses, withoutRetryAfter, latencyMs: histogram.summary() };
  }
}

/** A request with its bytes, where these are always the same. */
interface Prepared {
  readonly request: LoadRequest;
  readonly bytes: Buffer | null;
  readonly label: Label;
}

/** Runs a load until its time is over and every request that was sent is answered or lost. */
export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const labels = new Map<string, Label>();
  const host = hostOf(job.place);
  const began = performance.now();
  const ends = began + job.seconds * 1000;
  const connections = job.streams.flatMap((stream) => {
    const prepared = stream.requests.map((request): Prepared => {
      const label = labels.get(request.label) ?? new Label();
      labels.set(request.label, label);
      return { request, bytes: usesKeptToken(request) ? null : renderRequest(request, host, ""), label };
    });
    return Array.from({ length: stream.connections }, (_, index) => {
      const first = stream.spread ? Math.floor((index * prepared.length) / stream.connections) : 0;
      return new LoadConnection(job.place, prepared, first, ends);
    });
  });
  const giveUp = setTimeout(
    () => {
      for (const connection of connections) connection.giveUp();
    },
    ends - began + GIVE_UP_MS,
  );
  await Promise.all(connections.map((connection) => connection.done));
  clearTimeout(giveUp);
  return {
    seconds: (performance.now() - began) / 1000,
    labels: Object.fromEntries([...labels].map(([name, label]) => [name, label.result()])),
    lost: connections.reduce((sum, connection) => sum + connection.lost, 0),
  };
}

class LoadConnection {
  /** Resolves when the time is over and nothing is under way. */
  readonly done: Promise<void>;
  lost = 0;
  readonly #place: Place;
  readonly #prepared: readonly Prepared[];
  readonly #ends: number;
  #next: number;
  #kept = "";
  #finish: () => void = () => {};
  #socket: Socket | undefined;
  #reader = new ResponseReader();
  #underWay: Prepared | undefined;
  #sentAt = 0;

  constructor(place: Place, prepared: readonly Prepared[], first: number, ends: number) {
    this.#place = place;
    this.#prepared = prepared;
    this.#next = first;
    this.#ends = ends;
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
    this.#connect();
  }

  /** Ends the connection with whatever is under way. */
  giveUp(): void {
    if (this.#underWay) this.lost++;
    this.#end();
  }

  #connect(): void {
    if (performance.now() >= this.#ends) {
      this.#finish();
      return;
    }
    const socket = connectTo(this.#place);
    this.#socket = socket;
    this.#reader = new ResponseReader();
    socket.once(this.#place.kind === "tcp" && this.#place.tls ? "secureConnect" : "connect", () => this.#send());
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    // "close" follows and says what to do.
    socket.on("error", () => {});
    socket.on("close", () => {
      if (this.#socket !== socket) return;
      this.#underWay = undefined;
      this.lost++;
      setTimeout(() => this.#connect(), RECONNECT_MS);
    });
  }

  #send(): void {
    if (performance.now() >= this.#ends) {
      this.#end();
      return;
    }
    const next = this.#prepared[this.#next];
    if (!next) throw new Error("a stream has at least one request");
    this.#next = (this.#next + 1) % this.#prepared.length;
    this.#underWay = next;
    const bytes = next.bytes ?? renderRequest(next.request, hostOf(this.#place), this.#kept);
    this.#sentAt = performance.now();
    this.#socket?.write(bytes);
  }

  #receive(chunk: Buffer): void {
    const response = this.#reader.push(chunk);
    const underWay = this.#underWay;
    if (!response || !underWay) return;
    const ms = performance.now() - this.#sentAt;
    this.#underWay = undefined;
    underWay.label.count(response, ms);
    if (underWay.request.keepsToken) this.#kept = givenToken(response);
    if (response.closes) {
      this.#drop();
      this.#connect();
    } else {
      this.#send();
    }
  }

  #drop(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.destroy();
  }

  #end(): void {
    this.#drop();
    this.#finish();
  }
}

/** The token in an answer; "" where there is none, which the next request is then refused for. */
function givenToken({ status, body }: LoadResponse): string {
  if (status !== 200) return "";
  return (JSON.parse(body) as { auth?: { client_token?: string } }).auth?.client_token ?? "";
}
