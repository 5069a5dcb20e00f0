import { href } from "../href.ts";

interface Place {
  readonly label: string;
  readonly to: string;
}

/** The pages of the console for a check, by its name. */
const PLACES: Readonly<Record<string, readonly Place[]>> = {
  audit: [{ label: "Audit log", to: href(["audit"]) }],
  faults: [{ label: "Audit log", to: href(["audit"]) }],
  leases: [
    { label: "Leases that fail", to: href(["leases"], { show: "failing" }) },
    { label: "Ended lately, with receipts", to: href(["ended"]) },
  ],
  issuer: [{ label: "Identity tokens", to: href(["issuer"]) }],
  root_tokens: [{ label: "Root tokens", to: href(["tokens"], { policy: "root" }) }],
  endless_tokens: [{ label: "Tokens without an end", to: href(["tokens"], { never_ends: "true" }) }],
};

/** The pages for a check; none when only Health shows it. */
export const linksOfCheck = (check: string): readonly Place[] => PLACES[check] ?? [];
