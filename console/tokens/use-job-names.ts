import type { RevocationJob } from "../../client/answers.d.ts";
import { useEntityNames, useTokenName } from "../use-names.ts";
import { type EntityNamesById, entitiesOf, onlyAccessor } from "./filter.ts";

interface JobNames {
  readonly names: EntityNamesById;
  /** The name of the only selected token; "" when not known, and for another selection. */
  readonly tokenName: string;
}

/** The names in the text of a job's selection; none without a job. */
export function useJobNames(job: Pick<RevocationJob, "filter"> | null | undefined): JobNames {
  const filters = job ? [job.filter] : [];
  return { names: useEntityNames(entitiesOf(filters)), tokenName: useTokenName(onlyAccessor(job?.filter ?? {})) };
}
