/** An auth mount, as `sys/auth` lists it. */
export interface Mount {
  readonly type: string;
  readonly description: string;
  readonly accessor: string;
  /** Seconds; 0 is what the installation has. */
  readonly config: { readonly default_lease_ttl: number; readonly max_lease_ttl: number };
}

export type Mounts = Readonly<Record<string, Mount>>;
