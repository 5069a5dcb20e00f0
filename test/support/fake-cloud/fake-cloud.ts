import { type CloudReply, type CloudRequest, ec2Refusal, refusal } from "./request.ts";
import { SERVICES } from "./services.ts";
import { verifySignature } from "./signature.ts";
import { assumeRoleWithWebIdentity, type FetchDocument } from "./web-identity.ts";
import { type Key, World } from "./world.ts";

/** A way for the cloud to misbehave. */
export type Fault =
  | { readonly kind: "reply"; readonly reply: CloudReply }
  /** Sends no answer. */
  | { readonly kind: "stall" }
  /** Sends the head of an answer and then nothing. */
  | { readonly kind: "stall_body" }
  /** Ends the connection. */
  | { readonly kind: "unreachable" };

/** What is done with a request: an answer, or one of the ways to give none. */
export type Reaction = Fault;

/** One request that reached the fake cloud. */
export interface SeenCall {
  readonly service: string;
  readonly action: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly form: URLSearchParams;
  readonly request: CloudRequest;
}

interface PlannedFault {
  readonly fault: Fault;
  readonly service: string;
  readonly action: string | null;
  left: number;
}

/**
 * STS, EC2 and IAM as far as Grove uses them. It verifies every signature, knows accounts, keys, roles and instances, and
 * fails on request.
 */
export class FakeCloud {
  readonly world = new World();
  /** Every request with a good form, in order. */
  readonly calls: SeenCall[] = [];
  /** Further pages of the metadata service, by path. */
  readonly metadataPages = new Map<string, string>();
  readonly #faults: PlannedFault[] = [];
  readonly #denied = new Set<string>();
  /** Keys that are not known everywhere yet: requests with them are refused this many times. */
  readonly #fresh = new Map<string, number>();
  readonly #now: () => number;
  /** Runs before a call is answered; a test can hold calls back with it. */
  beforeAnswer: (call: SeenCall) => Promise<void> = async () => {};
  /** How it reads the documents of OpenID issuers. */
  fetchDocument: FetchDocument = async (url) => (await fetch(url)).json();

  /** @param now ms; the clock that signatures are judged by. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Misbehaves at the next `times` calls of a service, or of one of its operations. */
  fail(service: string, fault: Fault, options: { times?: number; action?: string } = {}): void {
    const { times = Number.POSITIVE_INFINITY, action = null } = options;
    this.#faults.push({ fault, service, action, left: times });
  }

  /** Behaves again. */
  heal(): void {
    this.#faults.length = 0;
    this.#denied.clear();
    this.#fresh.clear();
  }

  /** Refuses an operation to everybody, as a missing permission does. */
  deny(action: string): void {
    this.#denied.add(action);
  }

  /** Refuses new keys this many times each, as IAM does until it knows them everywhere. */
  forgetNewKey(accessKeyId: string, times: number): void {
    this.#fresh.set(accessKeyId, times);
  }

  /** The calls of one operation. */
  callsOf(action: string): SeenCall[] {
    return this.calls.filter((call) => call.action === action);
  }

  /**
   * Answers a request.
   *
   * @param host where the request arrived.
   */
  async react(request: CloudRequest, host: string): Promise<Reaction> {
    const call = readCall(request);
    this.calls.push(call);
    await this.beforeAnswer(call);
    const planned = this.#faults.find(
      (one) => one.left > 0 && one.service === call.service && (one.action === null || one.action === call.action),
    );
    if (planned) {
      planned.left--;
      return planned.fault;
    }
    if (call.action === "AssumeRoleWithWebIdentity") {
      // Its caller has no key to sign with: the token in the form is the proof.
      const { world, fetchDocument } = this;
      return { kind: "reply", reply: await assumeRoleWithWebIdentity(world, call.form, this.#now(), fetchDocument) };
    }
    return { kind: "reply", reply: this.#answer(call, host) };
  }

  #answer(call: SeenCall, host: string): CloudReply {
    const refuse = call.service === "ec2" ? ec2Refusal : refusal;
    const now = this.#now();
    const secretOf = (id: string): string | null => this.world.keyById(id)?.secret ?? null;
    const hosts = [host, ...SIGNED_HOSTS];
    const tried = hosts.map((one) => verifySignature(call.request, secretOf, one, now));
    const signed = tried.find((one) => typeof one !== "string") ?? tried[0] ?? "";
    if (typeof signed === "string") return refuse(403, signed);
    const key = this.world.keyById(signed.accessKeyId);
    if (!key || this.#isFresh(key)) return refuse(403, "InvalidClientTokenId");
    if (key.token !== signed.securityToken) return refuse(403, "InvalidClientTokenId");
    if (key.expiresAt !== null && key.expiresAt <= now) return refuse(403, "ExpiredToken");
    if (this.#denied.has(call.action)) return refuse(403, "AccessDenied");
    const handler = SERVICES[signed.service]?.[call.action];
    if (!handler) return refuse(400, "InvalidAction");
    return handler({ world: this.world, key, region: signed.region, form: call.form, now });
  }

  #isFresh(key: Key): boolean {
    const left = this.#fresh.get(key.id) ?? 0;
    if (left > 0) this.#fresh.set(key.id, left - 1);
    return left > 0;
  }
}

/** Hosts that clients sign for when an endpoint in between forwards to them. */
const SIGNED_HOSTS = ["sts.amazonaws.com", "sts.us-east-1.amazonaws.com", "sts.eu-west-1.amazonaws.com"];

function readCall(request: CloudRequest): SeenCall {
  const query = request.target.split("?")[1] ?? "";
  const form = new URLSearchParams(request.method === "GET" ? query : request.body);
  const credential =
    /Credential=([^,\s]+)/.exec(request.headers.authorization ?? "")?.[1] ??
    new URLSearchParams(query).get("X-Amz-Credential") ??
    "";
  const [accessKeyId = "", , region = "", service = ""] = credential.split("/");
  const action = form.get("Action") ?? "";
  return {
    service: service || (action.startsWith("AssumeRole") ? "sts" : ""),
    action,
    region,
    accessKeyId,
    form,
    request,
  };
}
