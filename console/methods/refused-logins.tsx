import type { RefusedLogins as Refused } from "../../client/answers.d.ts";
import { count } from "../format.ts";
import { href } from "../href.ts";
import type { RefusedLogins as RefusedLoginsOfMount } from "../records/part.ts";
import { useSession } from "../session.ts";
import { Card, type DataColumn, DataTable, Empty, Time, useLoad } from "../ui/index.ts";
import { belowMount } from "./mount-paths.ts";

type RefusedLogin = Refused["refused"][number];

/** Recently refused logins of a mount. */
export function RefusedLogins({ mount, part }: { readonly mount: string; readonly part: RefusedLoginsOfMount }) {
  const { api } = useSession();
  const path = belowMount(mount, part.path);
  const loaded = useLoad(path, () => api.read<Refused>(path));
  return (
    <Card
      of={loaded}
      title="Logins that were refused lately"
      beside={
        <button type="button" class="button" onClick={loaded.reload} aria-disabled={loaded.busy}>
          Reload
        </button>
      }
    >
      <DataTable
        empty={<Empty title="No login was refused lately" />}
        label="Refused logins"
        rows={loaded.value?.refused}
        columns={columnsOf(mount)}
        keyOf={({ role, check, first_time: first }) => JSON.stringify([role, check, first])}
      />
    </Card>
  );
}

const columnsOf = (mount: string): readonly DataColumn<RefusedLogin>[] => [
  {
    label: "Role",
    cell: ({ role }) =>
      role === null ? (
        <span class="muted">unknown</span>
      ) : (
        <a href={href(["methods", mount], { part: "roles", name: role })}>{role}</a>
      ),
  },
  {
    label: "Check that failed",
    wraps: true,
    cell: ({ check, description }) => (
      <>
        <code>{check}</code> <span class="muted">{description}</span>
      </>
    ),
  },
  { label: "Times", right: true, cell: ({ count: times }) => count(times) },
  { label: "Last", cell: ({ last_time: last }) => <Time at={last} /> },
  { label: "First", cell: ({ first_time: first }) => <Time at={first} /> },
  { label: "Last address", cell: ({ last_address: address }) => address ?? <span class="muted">not known</span> },
];
