import { createContext } from "preact";
import { useCallback, useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Entity, Self } from "../client/answers.d.ts";
import { Api } from "./api.ts";
import { ASKED_PATHS } from "./asked-paths.ts";
import { Capabilities } from "./capabilities.ts";
import type { Names } from "./entity-names.ts";
import { pathOf } from "./href.ts";
import { missingOf, type Needs, refusalOf } from "./needed-capabilities.ts";
import { readEntityNames, readTokenNames } from "./read-names.ts";
import { type Lifetime, lifetimeOf, renewedLifetime } from "./renewal.ts";
import { type Answer, done, failed } from "./result.ts";
import type { Credential } from "./sign-in/credential.ts";
import { type Farewell, signedOut } from "./sign-in/farewell.ts";
import { tokenOf } from "./sign-in/obtain-token.ts";
import { uselessTeamToken } from "./sign-in/team-token.ts";
import type { GivenToken } from "./sign-in/unwrapped-token.ts";
import { nameOf } from "./sign-in/user-name.ts";
import { dropAllUnsaved, keepUnsavedOf } from "./unsaved-policy.ts";
import { useRenewal } from "./use-renewal.ts";

/** The session of the signed-in user. */
export interface Session {
  readonly api: Api;
  readonly self: Self;
  readonly capabilities: Capabilities;
  readonly entityNames: Names;
  readonly tokenNames: Names;
  /** The display name of the user: the entity's name, or the token's. */
  readonly name: string;
  /** Id of the entity, or the token's accessor. After a new sign-in with the same owner the page stays. */
  readonly owner: string;
  /** True for a token that the sign-in created: no other client has it, and signing out revokes it. */
  readonly isOwn: boolean;
  readonly lifetime: Lifetime;
  renew(): Promise<Answer<void>>;
  /** Replaces the token of this session. */
  signInAgain(credential: Credential): Promise<Answer<void>>;
  /** With `revoke`, the session of a pasted token continues if the revocation fails. */
  signOut(options: { readonly revoke: boolean }): Promise<Answer<void>>;
}

/** The known facts about the signed-in token. */
type Known = Pick<Session, "self" | "capabilities" | "name" | "owner" | "isOwn" | "lifetime"> & {
  readonly token: string;
};

async function lookUp({ token, isOwn }: GivenToken): Promise<Answer<Known>> {
  const api = new Api(token);
  const self = await api.read<Self>("auth/token/lookup-self");
  if (!self.ok) return self;
  const lifetime = lifetimeOf(self.value, Date.now());
  const { entity_id: entityId, accessor } = self.value;
  const owner = entityId || accessor;
  const capabilities = new Capabilities(async (paths) => {
    const answer = await api.call<Readonly<Record<string, readonly string[]>>>("sys/capabilities-self", {
      body: { paths },
    });
    return answer.ok ? answer.value.data : null;
  });
  const asked = Object.values(ASKED_PATHS);
  const entityPath = `identity/entity/id/${pathOf(entityId)}`;
  // If this request is refused, the capabilities are unknown, and each page shows the server's refusals.
  await capabilities.ask([...asked, ...(entityId === "" ? [] : [entityPath])]);
  const useless = uselessTeamToken(
    self.value,
    asked.map((path) => capabilities.of(path)),
  );
  if (useless !== "") return failed({ status: 0, messages: [useless], requestId: "" });
  keepUnsavedOf(owner);
  const has = capabilities.of(entityPath);
  const mayRead = has !== undefined && missingOf([entityPath, "read"], has).length === 0;
  const entity = mayRead ? await api.read<Entity>(entityPath) : null;
  const name = nameOf(entity?.ok ? entity.value.name : "", self.value);
  return done({ token, self: self.value, capabilities, name, owner, isOwn, lifetime });
}

export interface SessionState {
  readonly session: Session | null;
  /** How the last session ended; null without one. */
  readonly ended: Farewell | null;
  signIn(credential: Credential): Promise<Answer<void>>;
}

/** The state of the session. Its token is only in the memory of the page. */
export function useSessionState(): SessionState {
  const [known, setKnown] = useState<Known | null>(null);
  const [ended, setEnded] = useState<Farewell | null>(null);
  /** The token of the current session; "" without one. Answers for an older token are ignored. */
  const current = useRef("");
  const checking = useRef("");
  const token = known?.token ?? "";

  /** Ends the session of a token. Returns false when it is not the current session. */
  const forget = useCallback((of: string, how: Farewell): boolean => {
    if (of !== current.current) return false;
    current.current = "";
    setKnown(null);
    setEnded(how);
    return true;
  }, []);

  // A 403 means that the policies refuse, or that the token has ended: a look-up of the token decides.
  const onRefused = useCallback(async () => {
    if (token === "" || checking.current === token) return;
    checking.current = token;
    const self = await new Api(token).read<Self>("auth/token/lookup-self");
    if (checking.current === token) checking.current = "";
    if (!self.ok && self.problem.status === 403)
      forget(token, over("Your session has ended: the token expired or was revoked."));
  }, [token, forget]);
  const api = useMemo(() => new Api(token, onRefused), [token, onRefused]);
  const names = useMemo(() => {
    // A separate `Api`: a refused read of a name must not make the session look up its token.
    const quiet = new Api(token);
    return { entityNames: readEntityNames(quiet), tokenNames: readTokenNames(quiet) };
  }, [token]);

  const ends = known?.lifetime.ends ?? null;
  useEffect(() => {
    if (ends === null) return;
    const check = (): void => {
      if (Date.now() >= ends) forget(token, over("Your session has ended: the token expired."));
    };
    const timer = window.setInterval(check, 1000);
    return () => window.clearInterval(timer);
  }, [token, ends, forget]);

  const signIn = async (credential: Credential): Promise<Answer<void>> => {
    const given = await tokenOf(credential);
    if (!given.ok) return given;
    const found = await lookUp(given.value);
    if (!found.ok) return found;
    current.current = found.value.token;
    setEnded(null);
    setKnown(found.value);
    return done(undefined);
  };

  /** Changes the known facts, unless another token was signed in meanwhile. */
  const update = (change: (before: Known) => Known): void =>
    setKnown((before) => (before?.token === token ? change(before) : before));

  const renew = async (): Promise<Answer<void>> => {
    const renewed = await api.call("auth/token/renew-self", { body: {} });
    if (!renewed.ok) {
      const { status } = renewed.problem;
      const isFinal = status >= 400 && status < 500 && status !== 429;
      if (isFinal) update((before) => ({ ...before, lifetime: { ...before.lifetime, canRenew: false } }));
      return renewed;
    }
    const self = await api.read<Self>("auth/token/lookup-self");
    if (!self.ok) return self;
    update((before) => ({
      ...before,
      self: self.value,
      lifetime: renewedLifetime(before.lifetime, self.value, Date.now()),
    }));
    return done(undefined);
  };
  useRenewal(known?.lifetime ?? null, renew);

  const session: Session | null = known && {
    ...known,
    ...names,
    api,
    renew,
    signInAgain: signIn,
    async signOut({ revoke }) {
      const revoked = revoke || known.isOwn ? await api.call("auth/token/revoke-self", { body: {} }) : null;
      if (revoked && !revoked.ok && !known.isOwn) return revoked;
      const messages = revoked && !revoked.ok ? revoked.problem.messages : [];
      const how = signedOut({ ends: known.lifetime.ends, isRevoked: revoked?.ok === true, messages }, Date.now());
      if (forget(known.token, how)) dropAllUnsaved();
      return done(undefined);
    },
  };
  return { session, ended, signIn };
}

const over = (text: string): Farewell => ({ tone: "warn", text });

export const SessionContext = createContext<Session | null>(null);

/** The current session. Throws without a session, as pages are rendered only within it. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error("a page outside of a session");
  return session;
}

/** False when the policies are known to refuse one of the capabilities at the path. */
export function mayDo({ capabilities }: Session, ...needs: Needs): boolean {
  return missingOf(needs, capabilities.of(needs[0])).length === 0;
}

/** Why the policies refuse an action; "" when they allow it, when that is unknown, or without `needs`. */
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
