import { useState } from "preact/hooks";
import { count, counted, exact, hourText } from "../format.ts";
import { Card, DataTable, MoreButton, Time } from "../ui/index.ts";
import type { TokenUse } from "./event.ts";
import { AddressLink } from "./links.tsx";

/** Hours that are shown at first. */
const SHOWN = 8;

interface UsesCardProps {
  readonly uses: readonly TokenUse[];
  /** True when there are more than were read. */
  readonly more: boolean;
}

/** From where a token has read, by hour and address. Its other requests are events. */
export function UsesCard({ uses, more }: UsesCardProps) {
  const [isWhole, setIsWhole] = useState(false);
  const reads = uses.reduce((sum, { count: times }) => sum + times, 0);
  const addresses = new Set(uses.map(({ address }) => address)).size;
  const shown = isWhole ? uses : uses.slice(0, SHOWN);
  return (
    <Card
      title="Used from"
      beside={
        uses.length > 0 && (
          <span class="muted number">
            {more && "more than "}
            {counted(reads, "read")} from {counted(addresses, "address", "addresses")}
          </span>
        )
      }
    >
      {uses.length === 0 ? (
        <p class="body muted">No reads are counted. What it changed, and what was refused, are events.</p>
      ) : (
        <DataTable
          label="Reads by hour and address"
          rows={shown}
          keyOf={({ hour, address }) => `${hour} ${address}`}
          columns={[
            {
              label: "From",
              cell: ({ address }) =>
                address === null ? <span class="muted">not known</span> : <AddressLink address={address} />,
            },
            { label: "Reads", right: true, cell: ({ count: times }) => count(times) },
            {
              label: "Hour from",
              cell: ({ hour }) => (
                <time dateTime={hour} title={exact(hour)}>
                  {hourText(hour)}
                </time>
              ),
            },
            { label: "Last", cell: ({ last }) => <Time at={last} /> },
          ]}
        />
      )}
      {uses.length > shown.length && (
        <MoreButton label={`Show all ${count(uses.length)} rows`} onClick={() => setIsWhole(true)} />
      )}
    </Card>
  );
}
