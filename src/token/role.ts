/** A named configuration that constrains the creation of tokens. Durations in seconds. */
export interface TokenRole {
  readonly name: string;
  readonly allowedPolicies: readonly string[];
  readonly disallowedPolicies: readonly string[];
  readonly allowedPoliciesGlob: readonly string[];
  readonly disallowedPoliciesGlob: readonly string[];
  /** Lower case; null until set. */
  readonly allowedEntityAliases: readonly string[] | null;
  readonly orphan: boolean;
  readonly renewable: boolean;
  readonly pathSuffix: string;
  readonly tokenBoundCidrs: readonly string[];
  readonly tokenExplicitMaxTtl: number;
  readonly tokenPeriod: number;
  readonly tokenNumUses: number;
  readonly tokenNoDefaultPolicy: boolean;
  readonly tokenType: "service" | "batch" | "default" | "default-service" | "default-batch";
}
