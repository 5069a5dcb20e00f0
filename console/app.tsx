import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { duration } from "./format.ts";
import { href, queryOf } from "./href.ts";
import { firstPage, NAV, type NavItem } from "./nav.ts";
import { AuditPage } from "./pages/audit.tsx";
import { EndedPage } from "./pages/ended.tsx";
import { EndsPage } from "./pages/ends.tsx";
import { ForestPage } from "./pages/forest.tsx";
import { HealthPage } from "./pages/health.tsx";
import { IdentityPage } from "./pages/identity.tsx";
import { IssuerPage } from "./pages/issuer.tsx";
import { LeasesPage } from "./pages/leases.tsx";
import { MethodPage } from "./pages/method.tsx";
import { MethodsPage, NewMethodPage } from "./pages/methods.tsx";
import { NewTokenPage } from "./pages/new-token.tsx";
import { OrganizationPage } from "./pages/organization.tsx";
import { NewOrganizationPage, OrganizationsPage } from "./pages/organizations.tsx";
import { PoliciesPage } from "./pages/policies.tsx";
import { NewPolicyPage, PolicyPage } from "./pages/policy.tsx";
import { ReceiptPage } from "./pages/receipt.tsx";
import { RequestPage } from "./pages/request.tsx";
import { RevocationPage } from "./pages/revocation.tsx";
import { SessionPage } from "./pages/session.tsx";
import { SetUpLoginPage } from "./pages/set-up-login.tsx";
import { SignIn } from "./pages/sign-in.tsx";
import { TeamPage } from "./pages/team.tsx";
import { TokenPage } from "./pages/token.tsx";
import { TokensPage } from "./pages/tokens.tsx";
import { isEnding } from "./renewal.ts";
import { beginAtTop, go, type Place, partsOf, usePlace } from "./router.ts";
import { SearchButton } from "./search/palette.tsx";
import { mayDo, type Session, SessionContext, useSession, useSessionState } from "./session.ts";
import { SessionNotices } from "./sign-in/session-notices.tsx";
import { SignOut } from "./sign-in/sign-out.tsx";
import { Empty, Icon, keepFocus, PageHead, useNow } from "./ui/index.ts";

export function App() {
  const state = useSessionState();
  useEffect(keepFocus, []);
  if (!state.session) return <SignIn state={state} />;
  return (
    <SessionContext.Provider value={state.session}>
      <Shell key={state.session.owner} />
    </SessionContext.Provider>
  );
}

function Shell() {
  const session = useSession();
  // Runs before the place is read, so that a page without rights is never loaded.
  useState(() => beginWhereAllowed(session));
  const place = usePlace();
  const parts = partsOf(place);
  const page = parts[0] ?? "";
  // On a narrow screen the links are behind a button.
  const [open, setOpen] = useState(false);
  // The focus was in the sign-in form, which is gone.
  useEffect(beginAtTop, []);
  useEffect(() => setOpen(false), [place]);
  return (
    <div class="shell">
      <a class="skip" href="#main">
        To the content
      </a>
      <header class="side">
        <a class="brand" href={href([])}>
          <Icon name="forest" size={20} />
          Grove
        </a>
        <SearchButton />
        <button
          type="button"
          class="button menu-button"
          aria-expanded={open}
          aria-controls="pages"
          onClick={() => setOpen(!open)}
        >
          <Icon name="menu" /> {labelOf(page)}
        </button>
        <nav class={open ? "nav open" : "nav"} id="pages" aria-label="Pages">
          {NAV.map(({ title, items }) => (
            <NavGroup key={title} title={title} items={items} current={page} session={session} />
          ))}
        </nav>
        <Who session={session} />
      </header>
      <div class="content">
        <SessionNotices />
        <main class="main" id="main" tabIndex={-1} key={place.visit}>
          {pageAt(parts, place)}
        </main>
      </div>
    </div>
  );
}

/** The label of the button that opens the navigation: the current page. */
const labelOf = (page: string): string =>
  NAV.flatMap(({ items }) => items).find(({ name }) => name === page)?.label ?? "Pages";

function beginWhereAllowed(session: Session): void {
  const { pathname, search } = window.location;
  // Links may lead to the sign-in page of the reference: a path below `vault/`, or the parameter `with`.
  const isSignIn = pathname.startsWith(href(["vault", ""])) || new URLSearchParams(search).has("with");
  const first = firstPage(session);
  if (isSignIn || (pathname === href([]) && first !== "")) go(href(first === "" ? [] : [first]), "replace");
}

function pageAt([name = "", item = "", below = ""]: readonly string[], { query }: Place): ComponentChildren {
  switch (name) {
    case "":
      // The key is the token alone, so the map stays loaded when a method is opened.
      return <ForestPage key={query.get("token") ?? ""} query={query} />;
    case "tokens":
      return item === "" ? <TokensPage query={query} /> : <TokenPage key={item} accessor={item} />;
    case "ends":
      return <EndsPage query={query} />;
    case "ended":
      return <EndedPage key={query.toString()} query={query} />;
    case "receipts":
      return <ReceiptPage key={item} id={item} />;
    case "revocations":
      return <RevocationPage key={item} request={item} />;
    case "leases":
      return <LeasesPage key={query.get("prefix") ?? ""} query={query} />;
    case "new-token":
      return <NewTokenPage />;
    case "policies":
      if (query.has("new")) return <NewPolicyPage />;
      return item === "" ? <PoliciesPage query={query} /> : <PolicyPage key={item} name={item} />;
    case "methods":
      if (query.has("new") && item === "") return <NewMethodPage />;
      if (query.has("setup") && item === "") return <SetUpLoginPage query={query} />;
      return item === "" ? <MethodsPage /> : <MethodPage key={item} path={item} query={query} />;
    case "identity":
      return <IdentityPage query={query} />;
    case "issuer":
      return <IssuerPage query={query} />;
    case "teams":
      if (item === "") return query.has("new") ? <NewOrganizationPage /> : <OrganizationsPage />;
      if (below !== "")
        return <TeamPage key={below} organization={item} id={below} marked={query.get("token") ?? ""} />;
      return <OrganizationPage key={item} name={item} query={query} />;
    case "audit":
      // Without the kind, so that its choice keeps the focus and the typed text.
      return <AuditPage key={queryOf({ ...Object.fromEntries(query), kind: "" })} query={query} />;
    case "requests":
      return <RequestPage key={item} id={item} />;
    case "health":
      return <HealthPage />;
    case "session":
      return <SessionPage />;
    default:
      return (
        <>
          <PageHead title="No such page" />
          <Empty title="There is nothing at this address">
            <a href={href([])}>To the first page</a>
          </Empty>
        </>
      );
  }
}

interface NavGroupProps {
  readonly title: string;
  readonly items: readonly NavItem[];
  readonly current: string;
  readonly session: Session;
}

function NavGroup({ title, items, current, session }: NavGroupProps) {
  return (
    <>
      <div class="nav-title">{title}</div>
      {items.map(({ name, label, icon, needs }) => {
        const refused = needs !== undefined && !mayDo(session, ...needs);
        return (
          <a key={name} href={href(name === "" ? [] : [name])} aria-current={name === current ? "page" : undefined}>
            <Icon name={icon} />
            {label}
            {refused && (
              <span class="lock" title="Your policies refuse this">
                <Icon name="lock" size={13} />
                <span class="visually-hidden">, refused by your policies</span>
              </span>
            )}
          </a>
        );
      })}
    </>
  );
}

function Who({ session }: { readonly session: Session }) {
  const { self, name, lifetime } = session;
  const now = useNow(1000);
  const seconds = lifetime.ends === null ? null : Math.max(0, (lifetime.ends - now) / 1000);
  return (
    <div class="who">
      <a href={href(["session"])}>
        <strong title={self.display_name}>{name}</strong>
        <span class={`small number ${isEnding(lifetime, now) ? "ending" : "muted"}`}>
          {seconds === null ? "never ends" : `ends in ${duration(seconds)}`}
        </span>
      </a>
      {/* Back to the first page, so that the next user does not land on this user's page. */}
      <SignOut session={session} onDone={() => go(href([]))} />
    </div>
  );
}
