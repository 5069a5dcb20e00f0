import type { PolicyUsage as Usage } from "../../client/answers.d.ts";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import { useSession } from "../session.ts";
import { Facts, useLoad } from "../ui/index.ts";
import { usagePath } from "./policy-endpoint.ts";

type Holders = Usage["roles"];

/** Most names that are shown of each kind. */
const SHOWN = 8;
const ROLE = /^auth\/(.+)\/roles?\/([^/]+)$/;

/** The tokens that a change would affect, shown before saving. Renders nothing when that is not known. */
export function TokensWithIt({ name }: { readonly name: string }) {
  const { api } = useSession();
  const { value } = useLoad(name, () => api.read<Usage>(usagePath(name)));
  if (!value) return null;
  const { tokens, entities, groups, teams } = value;
  const givers = [
    ["Entities", entities, hrefOfEntity],
    ["Groups", groups, hrefOfGroup],
    ["Teams", teams, hrefOfTeam],
  ] as const;
  const given = givers.filter(([, { count, more }]) => count > 0 || more);
  return (
    <p class="small">
      It applies within seconds. Tokens that name it:{" "}
      <a href={href(["tokens"], { policy: name })}>{counted(tokens, "token")}</a>
      {given.length > 0 && ". Tokens that get it through others are not counted: "}
      {given.map(([title, holders, hrefOf], at) => (
        <span key={title}>
          {at > 0 && "; "}
          {title} <Names holders={holders} hrefOf={hrefOf} />
        </span>
      ))}
      .
    </p>
  );
}

/** The roles, entities, groups and teams that give a policy to tokens. Renders nothing when that is not known. */
export function GivenBy({ name }: { readonly name: string }) {
  const { api } = useSession();
  const { value } = useLoad(name, () => api.read<Usage>(usagePath(name)));
  if (!value) return null;
  const { roles, entities, groups, teams } = value;
  return (
    <>
      Given by: roles <Names holders={roles} hrefOf={hrefOfRole} />; entities{" "}
      <Names holders={entities} hrefOf={hrefOfEntity} />; groups <Names holders={groups} hrefOf={hrefOfGroup} />; teams{" "}
      <Names holders={teams} hrefOf={hrefOfTeam} />.
    </>
  );
}

/** The number of tokens that have a policy themselves, and the roles, entities, groups and teams that give it. */
export function PolicyUsage({ name }: { readonly name: string }) {
  const { api } = useSession();
  const usage = useLoad(name, () => api.read<Usage>(usagePath(name)));
  if (usage.problem?.status === 403) {
    return <p class="small muted">Your policies refuse to say how many tokens and roles have it.</p>;
  }
  if (!usage.value) return <p class="small muted">{usage.problem?.messages.join(" ") ?? "Counting who has it…"}</p>;
  const { tokens, roles, entities, groups, teams } = usage.value;
  return (
    <Facts
      label="Who has it"
      rows={{
        "Tokens that name it": <a href={href(["tokens"], { policy: name })}>{counted(tokens, "token")}</a>,
        Roles: <Names holders={roles} hrefOf={hrefOfRole} />,
        Entities: <Names holders={entities} hrefOf={hrefOfEntity} />,
        Groups: <Names holders={groups} hrefOf={hrefOfGroup} />,
        Teams: <Names holders={teams} hrefOf={hrefOfTeam} />,
      }}
    />
  );
}

const hrefOfEntity = (name: string): string => href(["identity"], { part: "entities", name });
const hrefOfGroup = (name: string): string => href(["identity"], { part: "groups", name });
/** A team is named `organization/team`. The link leads to its organization. */
const hrefOfTeam = (name: string): string => href(["teams", name.slice(0, name.indexOf("/"))]);

function hrefOfRole(path: string): string | undefined {
  const [, mount, role] = ROLE.exec(path) ?? [];
  return mount && role ? href(["methods", mount], { part: "roles", name: role }) : undefined;
}

interface NamesProps {
  readonly holders: Holders;
  readonly hrefOf?: (name: string) => string | undefined;
}

function Names({ holders: { count, more, names }, hrefOf }: NamesProps) {
  return (
    <>
      {more ? `at least ${count}` : count}
      {names.slice(0, SHOWN).map((name, at) => {
        const address = hrefOf?.(name);
        return (
          <span key={name} class="break">
            {at === 0 ? ": " : ", "}
            {address ? <a href={address}>{name}</a> : name}
          </span>
        );
      })}
      {count > SHOWN && ", …"}
    </>
  );
}
