import { href, pathOf } from "../href.ts";
import { ISSUER_PARTS } from "../issuer/issuer-parts.ts";
import { CollectionPart } from "../records/collection-part.tsx";
import type { Scope } from "../records/part.ts";
import { SettingsPart } from "../records/settings-part.tsx";
import { PageHead, Tabs, UnknownValues, unknownIn } from "../ui/index.ts";

const DISCOVERY = "/v1/identity/oidc/.well-known/openid-configuration";

const SCOPE: Scope = {
  name: "issuer",
  endpoint: (path, name) => `identity/oidc/${path}${name === undefined ? "" : `/${pathOf(name)}`}`,
  page: (query) => href(["issuer"], query),
};

/** The issuer of identity tokens, which other services verify by themselves: its roles, keys and settings. */
export function IssuerPage({ query }: { readonly query: URLSearchParams }) {
  const part = ISSUER_PARTS.find((one) => one.part === query.get("part")) ?? ISSUER_PARTS[0];
  return (
    <>
      <PageHead
        title="Identity tokens"
        text={
          <>
            Signed tokens about entities, which others verify by the{" "}
            <a href={DISCOVERY} target="_blank" rel="noopener">
              discovery document
            </a>
          </>
        }
      />
      <Tabs
        label="Parts of the issuer"
        current={part?.part ?? ""}
        tabs={ISSUER_PARTS.map(({ part: name, title }) => ({ name, title, href: SCOPE.page({ part: name }) }))}
      />
      <UnknownValues names={unknownIn(query, { part: ISSUER_PARTS.map((one) => one.part) })} />
      {part?.kind === "collection" && (
        <CollectionPart
          key={part.part}
          scope={SCOPE}
          part={part}
          name={query.get("name") ?? ""}
          isNew={query.has("new")}
        />
      )}
      {part?.kind === "settings" && <SettingsPart key={part.part} scope={SCOPE} part={part} />}
    </>
  );
}
