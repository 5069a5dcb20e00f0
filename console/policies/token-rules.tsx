import { useState } from "preact/hooks";
import type { RulesOfToken } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";
import { href } from "../href.ts";
import { useSession } from "../session.ts";
import { Card, DataTable, Empty, MoreButton, Notice, Tags, useLoad } from "../ui/index.ts";

type Rule = RulesOfToken["rules"][number];

/** Rules that are shown at first. */
const SHOWN = 100;

/** What a token may do: its paths, with the capabilities on each, and the policies that give them. */
export function TokenRules({ accessor }: { readonly accessor: string }) {
  const { api } = useSession();
  const found = useLoad(accessor, () => api.ask<RulesOfToken>("sys/explain/rules", { accessor }));
  const [isWhole, setIsWhole] = useState(false);
  const { value } = found;
  const rules = value?.rules ?? [];
  return (
    <Card
      title="What it may do"
      of={found}
      beside={value && <span class="muted number">{value.root ? "" : counted(rules.length, "path")}</span>}
    >
      {value && (
        <div class="body stack tight">
          <p>
            By its policies, with those of its entity:{" "}
            <Tags names={value.policies} hrefOf={(name) => href(["policies", name])} />
          </p>
          {value.missing_policies.length > 0 && (
            <p class="small bad">There is no policy {value.missing_policies.join(", ")}.</p>
          )}
          {value.root && (
            <Notice tone="bad" title="Everything">
              It has the policy root.
            </Notice>
          )}
        </div>
      )}
      {value && !value.root && (
        <DataTable
          label="What it may do"
          rows={isWhole ? rules : rules.slice(0, SHOWN)}
          keyOf={({ path }) => path}
          columns={[
            { label: "Path", cell: ({ path }: Rule) => <code class="break">{path}</code> },
            { label: "Capabilities", cell: (rule: Rule) => <RuleCapabilities rule={rule} /> },
            {
              label: "From",
              cell: ({ policies }: Rule) => (
                <Tags
                  names={[...new Set(policies.map(({ name }) => name))]}
                  hrefOf={(name) => href(["policies", name])}
                />
              ),
            },
          ]}
          empty={<Empty title="Nothing: no policy of it has a rule" />}
        />
      )}
      {!isWhole && rules.length > SHOWN && (
        <MoreButton label={`Show all ${count(rules.length)} paths`} onClick={() => setIsWhole(true)} />
      )}
      {value?.more && <p class="body muted">There are more rules: the check has them all.</p>}
    </Card>
  );
}

function RuleCapabilities({ rule: { capabilities, limited } }: { readonly rule: Rule }) {
  if (capabilities.includes("deny")) return <span class="tag warn">refused</span>;
  return (
    <>
      <Tags names={capabilities} most={9} />
      {limited && <span class="muted small"> with limits of the rule</span>}
    </>
  );
}
