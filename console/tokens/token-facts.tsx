import type { Token } from "../../client/answers.d.ts";
import { count, duration, exact } from "../format.ts";
import { href } from "../href.ts";
import { End, Facts, Time } from "../ui/index.ts";
import { EntityLink, Metadata, MethodLink, ParentLink, Policies, RoleLink } from "./links.tsx";

/** The fields of a token, with links. */
export function TokenFacts({ token, ended = false }: { readonly token: Token; readonly ended?: boolean }) {
  return (
    <Facts
      body
      rows={{
        Policies: <Policies names={token.policies} most={30} />,
        Metadata: <Metadata pairs={token.metadata} most={60} />,
        Method: <MethodLink mount={token.mount} />,
        Role: token.role ? <RoleLink mount={token.mount} role={token.role} /> : "none",
        Parent: token.parent ? <ParentLink parent={token.parent} /> : "none",
        "Made at": <code>{token.path}</code>,
        Created: <Time at={token.created} both />,
        [ended ? "Would have ended" : "Ends"]: <End at={token.expires} both />,
        // The record of an ended token does not contain its renewals.
        Renewed: token.renewed ? <Time at={token.renewed} both /> : !ended && "never",
        "Last used": token.last_used ? `in the hour from ${exact(token.last_used)}` : !ended && "not known",
        "Uses left": token.uses_left > 0 ? `${count(token.uses_left)} of ${count(token.num_uses)}` : "no limit",
        Period: token.period > 0 ? duration(token.period) : "none",
        "Longest life": token.explicit_max_ttl > 0 ? duration(token.explicit_max_ttl) : "that of its method",
        Entity: token.entity_id ? <EntityLink id={token.entity_id} /> : "none",
        Tree: <a href={href(["tokens"], { tree: token.tree })}>all tokens of its tree</a>,
      }}
    />
  );
}
