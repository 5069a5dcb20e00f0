import { Time } from "../ui/index.ts";
import { AddressLink, RequestLink } from "./links.tsx";

interface CircumstancesProps {
  readonly at: string;
  readonly address?: string | null | undefined;
  /** True for a call by another Worker, which has no address. */
  readonly isCall?: boolean;
  /** Id of the request; "" when unknown. */
  readonly request?: string | undefined;
}

/** When and from which address a request came, and its id. */
export function Circumstances({ at, address, isCall = false, request = "" }: CircumstancesProps) {
  return (
    <p class="small muted">
      <Time at={at} both />
      {address ? (
        <>
          {" "}
          · from <AddressLink address={address} />
        </>
      ) : (
        isCall && " · from another Worker"
      )}
      {request !== "" && (
        <>
          {" "}
          · request <RequestLink id={request} />
        </>
      )}
    </p>
  );
}
