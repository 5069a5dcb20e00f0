import { createContext } from "preact";
import { useCallback, useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Self } from "../client/answers.d.ts";
import { Api } from "./api.ts";
import { Capabilities } from "./capabilities.ts";
import { pathOf } from "./href.ts";
import { missingOf, type Needs, refusalOf } from "./needs.ts";
import { type Answer, done, failed } from "./result.ts";
import { dropAllUnsaved, keepUnsavedOf } from "./unsaved.ts";

/** A credential for the sign-in. */
export type Credential =
  | { readonly kind: "token" | "wrapping token"; readonly token: string }
  /** A token that another issuer has signed, for the auth method `mount`. */
  | { readonly kind: "jwt"; readonly mount: string; readonly role: string; readonly token: string };

/** The session of the signed-in user. */
export interface Session {
  readonly api: Api;
  readonly self: Self;
  readonly capabilities: Capabilities;
  renew(): Promise<Answer<Self>>;
  /** With `revoke`, the session stays when the revocation fails. */
  signOut(options: { readonly revoke: boolean }): Promise<Answer<void>>;
}

/** Paths whose capabilities decide which pages are shown as refused. */
export const ASKED_PATHS = {
  tokens: "sys/tokens",
  summary: "sys/tokens/summary",
  map: "sys/tokens/map",
  ended: "sys/tokens/ended",
  revoke: "sys/tokens/revoke",
  leases: "sys/leases/lookup/",
  create: "auth/token/create",
  roles: "auth/token/roles",
  policies: "sys/policies/acl/",
  methods: "sys/auth",
  entities: "identity/entity/name/",
  issuer: "identity/oidc/role/",
  organizations: "organizations",
  tidy: "auth/token/tidy",
  tidyStatus: "auth/token/tidy-status",
  keys: "sys/key-status",
  rotate: "sys/rotate",
} as const;

const STORED = "grove-token";

async function lookUp(api: Api): Promise<Answer<Pick<Session, "self" | "capabilities">>> {
  const self = await api.read<Self>("auth/token/lookup-self");
  if (!self.ok) return self;
  keepUnsavedOf(self.value.entity_id || self.value.accessor);
  const capabilities = new Capabilities(async (paths) => {
    const answer = await api.call<Readonly<Record<string, readonly string[]>>>("sys/capabilities-self", {
      body: { paths },
    });
    return answer.ok ? answer.value.data : null;
  });
  // A refused question leaves the capabilities unknown; each page then shows the server's refusals.
  await capabilities.ask(Object.values(ASKED_PATHS));
  return done({ self: self.value, capabilities });
}

/** The token inside a wrapping token. */
async function unwrap(token: string): Promise<Answer<string>> {
  const answer = await new Api(token).call<{ readonly token?: string } | null>("sys/wrapping/unwrap", { body: {} });
  if (!answer.ok) return answer;
  const inner = answer.value.auth?.client_token ?? answer.value.data?.token;
  if (typeof inner === "string" && inner !== "") return done(inner);
  return failed({ status: 0, messages: ["What was wrapped is no token. It is used up now."], requestId: "" });
}

/** The token from a login by a method. */
async function logIn(mount: string, role: string, jwt: string): Promise<Answer<string>> {
  const answer = await new Api("").call(`auth/${pathOf(...mount.split("/"))}/login`, { body: { role, jwt } });
  return answer.ok ? done(answer.value.auth?.client_token ?? "") : answer;
}

function tokenOf(credential: Credential): Promise<Answer<string>> {
  if (credential.kind === "jwt") return logIn(credential.mount, credential.role, credential.token);
  return credential.kind === "token" ? Promise.resolve(done(credential.token)) : unwrap(credential.token);
}

export interface SessionState {
  readonly session: Session | null;
  /** True while the token that this tab kept is looked up. */
  readonly starting: boolean;
  /** Why the last session ended; "" when the user ended it. */
  readonly ended: string;
  signIn(credential: Credential, keep: boolean): Promise<Answer<void>>;
}

/** The state of the session. The token stays in memory, and in the tab's storage only on request. */
export function useSessionState(): SessionState {
  const [token, setToken] = useState(() => window.sessionStorage.getItem(STORED) ?? "");
  const [known, setKnown] = useState<Pick<Session, "self" | "capabilities"> | null>(null);
  const [ended, setEnded] = useState("");
  const [starting, setStarting] = useState(token !== "");
  const checking = useRef(false);

  const forget = useCallback((why: string) => {
    window.sessionStorage.removeItem(STORED);
    setToken("");
    setKnown(null);
    setStarting(false);
    setEnded(why);
  }, []);

  // A 403 means that the policies refuse, or that the token has ended: a look-up of the token decides.
  const onRefused = useCallback(async () => {
    if (checking.current || token === "") return;
    checking.current = true;
    const self = await new Api(token).read<Self>("auth/token/lookup-self");
    checking.current = false;
    if (!self.ok && self.problem.status === 403) forget("Your session has ended: the token expired or was revoked.");
  }, [token, forget]);
  const api = useMemo(() => new Api(token, onRefused), [token, onRefused]);

  useEffect(() => {
    if (token === "" || known) return;
    lookUp(api).then((found) => {
      setStarting(false);
      if (found.ok) return setKnown(found.value);
      const { status, messages } = found.problem;
      // The token may still be good: the tab keeps it for the next start.
      if (status === 0 || status >= 500) setToken("");
      else forget("");
      setEnded(messages.join(" "));
    });
  }, [token, known, api, forget]);

  const expires = known?.self.expire_time;
  useEffect(() => {
    if (!expires) return;
    const check = (): void => {
      if (Date.now() >= Date.parse(expires)) forget("Your session has ended: the token expired.");
    };
    const timer = window.setInterval(check, 1000);
    return () => window.clearInterval(timer);
  }, [expires, forget]);

  const signIn = async (credential: Credential, keep: boolean): Promise<Answer<void>> => {
    const inner = await tokenOf(credential);
    if (!inner.ok) return inner;
    const found = await lookUp(new Api(inner.value));
    if (!found.ok) return found;
    if (keep) window.sessionStorage.setItem(STORED, inner.value);
    else window.sessionStorage.removeItem(STORED);
    setEnded("");
    setToken(inner.value);
    setKnown(found.value);
    return done(undefined);
  };

  const session: Session | null = known && {
    api,
    ...known,
    async renew() {
      const renewed = await api.call("auth/token/renew-self", { body: {} });
      if (!renewed.ok) return renewed;
      const self = await api.read<Self>("auth/token/lookup-self");
      if (self.ok) setKnown({ ...known, self: self.value });
      return self;
    },
    async signOut({ revoke }) {
      if (revoke) {
        const revoked = await api.call("auth/token/revoke-self", { body: {} });
        if (!revoked.ok) return revoked;
      }
      dropAllUnsaved();
      forget("");
      return done(undefined);
    },
  };
  return { session, starting, ended, signIn };
}

export const SessionContext = createContext<Session | null>(null);

/** The session of a page; pages are shown only to somebody who is signed in. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("a page outside of a session");
  return session;
}

/** False when the policies are known to refuse one of the capabilities at the path. */
export function mayDo({ capabilities }: Session, ...needs: Needs): boolean {
  return missingOf(needs, capabilities.of(needs[0])).length === 0;
}

/** Why the policies refuse an action; "" when they allow it, when that is unknown, and without needs. */
export function useRefusal(needs: Needs | null): string {
  const { capabilities } = useSession();
  const [, draw] = useState(0);
  const path = needs?.[0];
  useEffect(() => {
    if (path === undefined) return;
    let isShown = true;
    capabilities.ask([path]).then(() => {
      if (isShown) draw((before) => before + 1);
    });
    return () => {
      isShown = false;
    };
  }, [capabilities, path]);
  return needs === null ? "" : refusalOf(needs, capabilities.of(needs[0]));
}
