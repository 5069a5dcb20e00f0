export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        readonly AuthMounts: {
            readonly [key: string]: {
                readonly type: string;
                readonly description: string;
                readonly accessor: string;
                readonly uuid: string;
                readonly local: boolean;
                readonly seal_wrap: boolean;
                readonly external_entropy_access: boolean;
                readonly options: Record<string, unknown> | null;
                readonly plugin_version: string;
                readonly running_plugin_version: string;
                readonly running_sha256: string;
                readonly config: {
                    readonly default_lease_ttl: number;
                    readonly max_lease_ttl: number;
                    readonly force_no_cache: boolean;
                    readonly token_type?: string;
                    readonly listing_visibility?: string;
                    readonly passthrough_request_headers?: readonly string[];
                    readonly allowed_response_headers?: readonly string[];
                    readonly audit_non_hmac_request_keys?: readonly string[];
                    readonly audit_non_hmac_response_keys?: readonly string[];
                    readonly location_hint?: string;
                };
            };
        };
        readonly ShownMounts: {
            readonly auth: {
                readonly [key: string]: {
                    readonly type: string;
                    readonly description: string;
                    readonly accessor?: string;
                    readonly uuid?: string;
                    readonly local?: boolean;
                    readonly seal_wrap?: boolean;
                    readonly external_entropy_access?: boolean;
                    readonly options?: Record<string, unknown> | null;
                    readonly plugin_version?: string;
                    readonly running_plugin_version?: string;
                    readonly running_sha256?: string;
                    readonly config?: {
                        readonly default_lease_ttl: number;
                        readonly max_lease_ttl: number;
                        readonly force_no_cache: boolean;
                        readonly token_type?: string;
                        readonly listing_visibility?: string;
                        readonly passthrough_request_headers?: readonly string[];
                        readonly allowed_response_headers?: readonly string[];
                        readonly audit_non_hmac_request_keys?: readonly string[];
                        readonly audit_non_hmac_response_keys?: readonly string[];
                        readonly location_hint?: string;
                    };
                    readonly browser_login?: boolean;
                };
            };
            readonly secret: {
                readonly [key: string]: {
                    readonly type: string;
                    readonly description: string;
                    readonly accessor?: string;
                    readonly uuid?: string;
                    readonly local?: boolean;
                    readonly seal_wrap?: boolean;
                    readonly external_entropy_access?: boolean;
                    readonly options?: Record<string, unknown> | null;
                    readonly plugin_version?: string;
                    readonly running_plugin_version?: string;
                    readonly running_sha256?: string;
                    readonly config?: {
                        readonly default_lease_ttl: number;
                        readonly max_lease_ttl: number;
                        readonly force_no_cache: boolean;
                        readonly token_type?: string;
                        readonly listing_visibility?: string;
                        readonly passthrough_request_headers?: readonly string[];
                        readonly allowed_response_headers?: readonly string[];
                        readonly audit_non_hmac_request_keys?: readonly string[];
                        readonly audit_non_hmac_response_keys?: readonly string[];
                        readonly location_hint?: string;
                    };
                    readonly browser_login?: boolean;
                };
            };
        };
        readonly Self: {
            readonly accessor: string;
            readonly bound_cidrs?: readonly string[];
            readonly creation_time: number;
            readonly creation_ttl: number;
            readonly display_name: string;
            readonly entity_id: string;
            readonly expire_time: string | null;
            readonly explicit_max_ttl: number;
            readonly id: string;
            readonly issue_time?: string;
            readonly last_renewal?: string;
            readonly last_renewal_time?: number;
            readonly meta: {
                readonly [key: string]: string;
            } | null;
            readonly num_uses: number;
            readonly orphan: boolean;
            readonly path: string;
            readonly period?: number;
            readonly policies: readonly string[];
            readonly renewable?: boolean;
            readonly role?: string;
            readonly ttl: number;
            readonly type: string;
            readonly identity_policies?: readonly string[];
        };
        readonly Health: {
            readonly initialized: boolean;
            readonly sealed: boolean;
            readonly standby: boolean;
            readonly performance_standby: boolean;
            readonly replication_performance_mode: string;
            readonly replication_dr_mode: string;
            readonly server_time_utc: number;
            readonly version: string;
            readonly grove_version: string;
            readonly grove_stale_seconds?: number;
            readonly snapshot_age_seconds?: number;
            readonly failing_objects?: readonly string[];
            readonly cluster_name?: string;
            readonly cluster_id?: string;
        };
        readonly Doctor: {
            readonly state: string;
            readonly checks: readonly {
                readonly name: string;
                readonly title: string;
                readonly state: string;
                readonly seen: string;
                readonly advice: string;
                readonly link: string;
            }[];
        };
        readonly MetricsHistory: {
            readonly interval_seconds: number;
            readonly bounds: readonly number[];
            readonly samples: readonly {
                readonly time: string;
                readonly requests: number;
                readonly failures: number;
                readonly unavailable: number;
                readonly limited: number;
                readonly logins_success: number;
                readonly logins_refused: number;
                readonly logins_failed: number;
                readonly tokens_swept: number;
                readonly within: readonly number[];
                readonly tokens: number | null;
                readonly leases: number | null;
            }[];
        };
        readonly KeyStatus: {
            readonly term: number;
            readonly install_time: string;
            readonly encryptions: number;
            readonly terms: readonly number[];
        };
        readonly Quota: {
            readonly type: string;
            readonly name: string;
            readonly path: string;
            readonly role: string;
            readonly rate: number;
            readonly interval: number;
            readonly block_interval: number;
            readonly inheritable: boolean;
        };
        readonly TidyStatus: {
            readonly state: string;
            readonly running: {
                readonly time_started: string;
                readonly time_finished: string | null;
                readonly accessors_examined: number;
                readonly accessors_removed: number;
                readonly custom_ids_examined: number;
                readonly custom_ids_removed: number;
                readonly tokens_swept: number;
                readonly tokens_relisted: number;
                readonly tokens_revoked: number;
                readonly tokens_revived: number;
                readonly tokens_orphaned: number;
                readonly cubbyhole_entries_removed: number;
                readonly leases_ended: number;
                readonly rows_sealed: number;
                readonly rows_tampered: number;
                readonly tree_steps: number;
                readonly terms_dropped: number;
                readonly failures: number;
            } | null;
            readonly last: {
                readonly time_started: string;
                readonly time_finished: string | null;
                readonly accessors_examined: number;
                readonly accessors_removed: number;
                readonly custom_ids_examined: number;
                readonly custom_ids_removed: number;
                readonly tokens_swept: number;
                readonly tokens_relisted: number;
                readonly tokens_revoked: number;
                readonly tokens_revived: number;
                readonly tokens_orphaned: number;
                readonly cubbyhole_entries_removed: number;
                readonly leases_ended: number;
                readonly rows_sealed: number;
                readonly rows_tampered: number;
                readonly tree_steps: number;
                readonly terms_dropped: number;
                readonly failures: number;
            } | null;
            readonly background: {
                readonly shards: number;
                readonly checked: number;
                readonly since: string | null;
                readonly failures: number;
                readonly revived: number;
            };
        };
        readonly TokenCounters: {
            readonly counters: {
                readonly service_tokens: {
                    readonly total: number;
                };
            };
        };
        readonly WatermarkRevocations: {
            readonly revocations: readonly {
                readonly prefix?: string;
                readonly entity_id?: string;
                readonly issued_since?: string;
                readonly time: string;
                readonly created_before: string | null;
                readonly asked_by: {
                    readonly accessor: string;
                    readonly display_name: string;
                    readonly entity_id: string;
                } | null;
                readonly request_id: string;
                readonly request_path: string;
                readonly clean_up: string;
                readonly tokens_seen: number | null;
                readonly tokens_left: number | null;
                readonly clean_up_finished: string | null;
            }[];
        };
        readonly IrrevocableLeases: {
            readonly lease_count: number;
            readonly leases: readonly {
                readonly lease_id: string;
                readonly mount_id: string;
                readonly accessor?: string;
                readonly error: string;
                readonly next_attempt?: string | null;
            }[];
        };
        readonly Lease: {
            readonly id: string;
            readonly path: string;
            readonly target?: string;
            readonly renewable: boolean;
            readonly issue_time: string;
            readonly expire_time: string | null;
            readonly last_renewal: string | null;
            readonly ttl: number;
            readonly revoke_error?: string;
            readonly next_attempt?: string | null;
        };
        readonly StoredPolicy: {
            readonly name: string;
            readonly version: number;
            readonly cas_required: boolean;
            readonly allow_slashes_in_identity_templates: boolean;
            readonly allow_wildcards_in_identity_templates: boolean;
            readonly modified: string;
            readonly expiration?: string;
            readonly policy: string;
        };
        readonly PolicyUsage: {
            readonly name: string;
            readonly tokens: number;
            readonly roles: {
                readonly count: number;
                readonly more: boolean;
                readonly names: readonly string[];
            };
            readonly entities: {
                readonly count: number;
                readonly more: boolean;
                readonly names: readonly string[];
            };
            readonly groups: {
                readonly count: number;
                readonly more: boolean;
                readonly names: readonly string[];
            };
            readonly teams: {
                readonly count: number;
                readonly more: boolean;
                readonly names: readonly string[];
            };
        };
        readonly PolicyVersions: {
            readonly keys: readonly string[];
            readonly key_info: {
                readonly [key: string]: {
                    readonly version: number;
                    readonly modified: string;
                    readonly by: {
                        readonly accessor: string;
                        readonly display_name: string;
                        readonly entity_id: string;
                    } | null;
                };
            };
        };
        readonly PolicyVersion: {
            readonly name: string;
            readonly version: number;
            readonly cas_required: boolean;
            readonly allow_slashes_in_identity_templates: boolean;
            readonly allow_wildcards_in_identity_templates: boolean;
            readonly modified: string;
            readonly expiration?: string;
            readonly by: {
                readonly accessor: string;
                readonly display_name: string;
                readonly entity_id: string;
            } | null;
            readonly policy: string;
        };
        readonly Explanation: {
            readonly allowed: boolean;
            readonly reason: string;
            readonly message: string;
            readonly operation: string;
            readonly path: string;
            readonly endpoint: string | null;
            readonly policies: readonly string[];
            readonly missing_policies: readonly string[];
            readonly rule?: {
                readonly path: string;
                readonly capabilities: readonly string[];
                readonly policies: readonly {
                    readonly name: string;
                    readonly path: string;
                    readonly lines: readonly number[];
                }[];
            };
            readonly missing_capabilities: readonly string[];
            readonly parameter: string | null;
            readonly hcl: string | null;
        };
        readonly PolicyExplanation: {
            readonly unserved: readonly {
                readonly path: string;
                readonly lines: readonly number[];
            }[];
        };
        readonly RulesOfToken: {
            readonly root: boolean;
            readonly policies: readonly string[];
            readonly missing_policies: readonly string[];
            readonly rules: readonly {
                readonly path: string;
                readonly capabilities: readonly string[];
                readonly limited: boolean;
                readonly policies: readonly {
                    readonly name: string;
                    readonly path: string;
                }[];
            }[];
            readonly more: boolean;
        };
        readonly LoginExplanation: {
            readonly auth_type: string;
            readonly allowed: boolean;
            readonly checks: readonly {
                readonly name: string;
                readonly description: string;
                /** @enum {string} */
                readonly outcome: "passed" | "failed" | "assumed" | "not_reached";
                readonly bound: readonly string[];
                readonly actual: string | null;
                readonly message: string | null;
            }[];
            readonly token?: {
                readonly token_policies: readonly string[];
                readonly identity_policies?: readonly string[];
                readonly token_type: string;
                readonly expiration_time: string | null;
            };
        };
        readonly RefusedLogins: {
            readonly refused: readonly {
                readonly role: string | null;
                readonly check: string;
                readonly description: string;
                readonly count: number;
                readonly first_time: string;
                readonly last_time: string;
                readonly last_address: string | null;
            }[];
        };
        readonly RoleTag: {
            readonly tag_key: string;
            readonly tag_value: string;
        };
        readonly Entity: {
            readonly id: string;
            readonly name: string;
            readonly metadata: {
                readonly [key: string]: string;
            } | null;
            readonly policies: readonly string[];
            readonly disabled: boolean;
            readonly namespace_id: string;
            readonly creation_time: string;
            readonly last_update_time: string;
            readonly merged_entity_ids: readonly string[] | null;
            readonly aliases: readonly {
                readonly mount_accessor: string;
                readonly mount_path: string;
                readonly mount_type: string;
                readonly canonical_id: string;
                readonly name: string;
                readonly metadata: {
                    readonly [key: string]: string;
                } | null;
                readonly custom_metadata: {
                    readonly [key: string]: string;
                } | null;
                readonly local: boolean;
                readonly id: string;
                readonly merged_from_canonical_ids: readonly string[] | null;
                readonly creation_time: string;
                readonly last_update_time: string;
            }[];
            readonly direct_group_ids: readonly string[];
            readonly inherited_group_ids: readonly string[];
            readonly group_ids: readonly string[];
        };
        readonly EntityList: {
            readonly keys: readonly string[];
            readonly key_info: {
                readonly [key: string]: {
                    readonly name: string;
                    readonly display_name: string;
                    readonly disabled: boolean;
                    readonly aliases: readonly {
                        readonly mount_accessor: string;
                        readonly mount_path: string;
                        readonly mount_type: string;
                        readonly id: string;
                        readonly name: string;
                    }[];
                };
            };
        };
        readonly EntityNames: {
            readonly key_info: {
                readonly [key: string]: {
                    readonly name: string;
                    readonly aliases: readonly {
                        readonly name: string;
                        readonly metadata: {
                            readonly [key: string]: string;
                        };
                    }[];
                };
            };
        };
        readonly Group: {
            readonly id: string;
            readonly name: string;
            readonly type: string;
            readonly metadata: {
                readonly [key: string]: string;
            } | null;
            readonly policies: readonly string[];
            readonly member_entity_ids: readonly string[] | null;
            readonly member_group_ids: readonly string[] | null;
            readonly parent_group_ids: readonly string[];
            readonly alias: {
                readonly mount_accessor?: string;
                readonly mount_path?: string;
                readonly mount_type?: string;
                readonly canonical_id?: string;
                readonly name?: string;
                readonly metadata?: {
                    readonly [key: string]: string;
                } | null;
                readonly custom_metadata?: {
                    readonly [key: string]: string;
                } | null;
                readonly local?: boolean;
                readonly id?: string;
                readonly merged_from_canonical_ids?: readonly string[] | null;
                readonly creation_time?: string;
                readonly last_update_time?: string;
                readonly namespace_id?: string;
            };
            readonly namespace_id: string;
            readonly creation_time: string;
            readonly last_update_time: string;
        };
        readonly TokenPage: {
            readonly tokens: readonly components["schemas"]["Token"][];
            readonly next: string;
            readonly scanned: number;
            readonly fresh_as_of: string;
        };
        readonly TokenDetail: {
            readonly token: components["schemas"]["Token"];
            readonly ancestors: readonly components["schemas"]["Token"][];
            readonly ancestors_more: boolean;
            readonly children: readonly {
                readonly accessor: string;
                readonly display_name: string;
                readonly path: string;
                readonly role: string;
                readonly mount: string;
                readonly mount_accessor: string;
                readonly type: string;
                readonly policies: readonly string[];
                readonly entity_id: string;
                readonly metadata: {
                    readonly [key: string]: string;
                };
                readonly created: string;
                readonly expires: string | null;
                readonly renewed: string | null;
                readonly num_uses: number;
                readonly uses_left: number;
                readonly period: number;
                readonly explicit_max_ttl: number;
                readonly orphan: boolean;
                readonly parent: string | null;
                readonly children: number;
                readonly last_used: string | null;
                readonly tree: string;
                readonly descendants: {
                    readonly count: number;
                    readonly more: boolean;
                };
            }[];
            readonly children_next: string;
            readonly descendants: {
                readonly count: number;
                readonly more: boolean;
            };
            readonly leases: {
                readonly count: number;
                readonly more: boolean;
            };
            readonly failing_leases?: number;
            readonly held_leases: readonly {
                readonly lease_id: string;
                readonly expire_time: string;
            }[];
            readonly cubbyhole: {
                readonly values: number;
                readonly bytes: number;
                readonly more: boolean;
            };
        };
        readonly EndedToken: {
            readonly token: components["schemas"]["Token"];
            readonly ended: {
                readonly at: string;
                readonly how: string;
                readonly by: {
                    readonly accessor: string;
                    readonly display_name: string;
                    readonly entity_id: string;
                } | null;
                readonly cause: string;
                readonly request_id: string;
                readonly request_path: string;
                readonly job: string;
                readonly with?: number;
            };
        };
        readonly Token: {
            readonly accessor: string;
            readonly display_name: string;
            readonly path: string;
            readonly role: string;
            readonly mount: string;
            readonly mount_accessor: string;
            readonly type: string;
            readonly policies: readonly string[];
            readonly entity_id: string;
            readonly metadata: {
                readonly [key: string]: string;
            };
            readonly created: string;
            readonly expires: string | null;
            readonly renewed: string | null;
            readonly num_uses: number;
            readonly uses_left: number;
            readonly period: number;
            readonly explicit_max_ttl: number;
            readonly orphan: boolean;
            readonly parent: string | null;
            readonly children: number;
            readonly last_used: string | null;
            readonly tree: string;
        };
        readonly FoundText: {
            /** @enum {string} */
            readonly state: "live" | "refused" | "ended" | "unjudged" | "mistyped" | "elsewhere" | "unknown";
            readonly kind: string;
            readonly message: string;
            readonly chosen_id: boolean;
            readonly mounts?: readonly string[];
            readonly roles?: {
                readonly [key: string]: readonly string[];
            };
            readonly entities?: readonly {
                readonly id: string;
                readonly name: string;
                readonly disabled: boolean;
                readonly alias: string;
                readonly mount: string;
            }[];
            readonly wrapped_accessor?: string;
            readonly token?: components["schemas"]["Token"];
            readonly ended?: {
                readonly at: string;
                readonly how: string;
                readonly by: {
                    readonly accessor: string;
                    readonly display_name: string;
                    readonly entity_id: string;
                } | null;
                readonly cause: string;
                readonly request_id: string;
                readonly request_path: string;
                readonly job: string;
                readonly with?: number;
            };
            readonly unrevoked_leases?: {
                readonly waiting: number;
                readonly failing: number;
                readonly removed: number;
                readonly more: boolean;
                readonly failures: readonly {
                    readonly lease_id: string;
                    readonly accessor: string;
                    readonly error: string;
                    readonly next_attempt: string | null;
                }[];
            };
            readonly credential?: {
                readonly accessor: string;
                readonly display_name: string;
                readonly description: string;
                readonly created_by: string;
                readonly policies: readonly string[];
                readonly metadata: {
                    readonly [key: string]: string;
                };
                readonly entity_id: string;
                readonly path: string;
                readonly created: string | null;
                readonly expires: string | null;
                readonly parent: string | null;
            };
        };
        readonly TokenSummary: {
            readonly groups: readonly {
                readonly key: string;
                readonly count: number;
                readonly trees?: number;
                readonly in_trees?: number;
            }[];
            readonly total: number;
            readonly other?: number;
            readonly other_trees?: {
                readonly trees: number;
                readonly count: number;
            };
            readonly more?: boolean;
            readonly fresh_as_of: string;
        };
        readonly TokenMap: {
            readonly groups: readonly {
                readonly mount: string;
                readonly count: number;
                readonly trees: number;
                readonly largest: readonly {
                    readonly tree: string;
                    readonly root: components["schemas"]["Token"];
                    readonly count: number;
                    readonly ended: boolean;
                }[];
                readonly rest: {
                    readonly trees: number;
                    readonly count: number;
                    readonly estimated: boolean;
                };
                readonly by_group?: readonly {
                    readonly key: string;
                    readonly trees: number;
                    readonly count: number;
                }[];
                readonly by_group_other?: {
                    readonly trees: number;
                    readonly count: number;
                };
            }[];
            readonly total: number;
            readonly more?: boolean;
            readonly fresh_as_of: string;
        };
        readonly EndingTokens: {
            readonly from: string;
            readonly step: number;
            readonly total: number;
            readonly parts: readonly number[];
            readonly groups: readonly {
                readonly key: string;
                readonly count: number;
                readonly parts: readonly number[];
            }[];
            readonly other: {
                readonly count: number;
                readonly parts: readonly number[];
            };
            readonly fresh_as_of: string;
        };
        readonly EndedPage: {
            readonly tokens: readonly components["schemas"]["EndedToken"][];
            readonly next: string;
            readonly scanned: number;
        };
        readonly RevocationPreview: {
            readonly count: number;
            readonly total: number;
            readonly leases: {
                readonly count: number;
                readonly more: boolean;
            };
            readonly skipped: {
                readonly root: number;
                readonly self: number;
            };
            readonly by: {
                readonly mount: readonly {
                    readonly key: string;
                    readonly count: number;
                }[];
                readonly type: readonly {
                    readonly key: string;
                    readonly count: number;
                }[];
                readonly role: readonly {
                    readonly key: string;
                    readonly count: number;
                }[];
                readonly owner: readonly {
                    readonly key: string;
                    readonly count: number;
                }[];
            };
            readonly by_other: {
                readonly mount: number;
                readonly role: number;
                readonly owner: number;
            };
            readonly more: boolean;
            readonly sample: readonly components["schemas"]["Token"][];
        };
        readonly RevocationCount: {
            readonly job: string;
            /** @enum {string} */
            readonly state: "counting";
            readonly counted: number;
        };
        readonly StartedRevocation: {
            readonly job: string;
            /** @enum {string} */
            readonly state: "running";
        };
        readonly RevocationJob: {
            readonly id: string;
            /** @enum {string} */
            readonly state: "counting" | "counted" | "refused" | "running" | "done" | "incomplete" | "stopped" | "failed";
            readonly dry_run: boolean;
            readonly filter: Record<string, unknown>;
            readonly named: number;
            readonly asked_by: {
                readonly accessor: string;
                readonly display_name: string;
                readonly entity_id: string;
            } | null;
            readonly request_id: string;
            readonly started: string;
            readonly finished: string | null;
            readonly expected: number | null;
            readonly expected_total: number | null;
            readonly counted: number;
            readonly matched: number | null;
            readonly total: number;
            readonly revoked: number;
            readonly ended_before: number;
            readonly spared: number;
            readonly mismatched: number;
            readonly remaining: number | null;
            readonly not_ended: number;
            readonly failures: readonly string[];
            readonly preview?: {
                readonly count: number;
                readonly total: number;
                readonly leases: {
                    readonly count: number;
                    readonly more: boolean;
                };
                readonly skipped: {
                    readonly root: number;
                    readonly self: number;
                };
                readonly by: {
                    readonly mount: readonly {
                        readonly key: string;
                        readonly count: number;
                    }[];
                    readonly type: readonly {
                        readonly key: string;
                        readonly count: number;
                    }[];
                    readonly role: readonly {
                        readonly key: string;
                        readonly count: number;
                    }[];
                    readonly owner: readonly {
                        readonly key: string;
                        readonly count: number;
                    }[];
                };
                readonly by_other: {
                    readonly mount: number;
                    readonly role: number;
                    readonly owner: number;
                };
            };
        };
        readonly RevocationJobs: {
            readonly jobs: readonly {
                readonly id: string;
                /** @enum {string} */
                readonly state: "counting" | "counted" | "refused" | "running" | "done" | "incomplete" | "stopped" | "failed";
                readonly dry_run: boolean;
                readonly filter: Record<string, unknown>;
                readonly named: number;
                readonly asked_by: {
                    readonly accessor: string;
                    readonly display_name: string;
                    readonly entity_id: string;
                } | null;
                readonly request_id: string;
                readonly started: string;
                readonly finished: string | null;
                readonly expected: number | null;
                readonly expected_total: number | null;
                readonly counted: number;
                readonly matched: number | null;
                readonly total: number;
                readonly revoked: number;
                readonly ended_before: number;
                readonly spared: number;
                readonly mismatched: number;
                readonly remaining: number | null;
                readonly not_ended: number;
                readonly failures: readonly string[];
                readonly preview?: {
                    readonly count: number;
                    readonly total: number;
                    readonly leases: {
                        readonly count: number;
                        readonly more: boolean;
                    };
                    readonly skipped: {
                        readonly root: number;
                        readonly self: number;
                    };
                };
            }[];
        };
        readonly Receipt: {
            readonly job: string;
            readonly state: string;
            readonly complete?: boolean;
            readonly asked_by: {
                readonly accessor: string;
                readonly display_name: string;
                readonly entity_id: string;
            } | null;
            readonly request_id: string;
            readonly started: string;
            readonly finished: string | null;
            readonly filter: Record<string, unknown>;
            readonly numbers: {
                readonly matched: number;
                readonly total: number;
                readonly leases: {
                    readonly count: number;
                    readonly more: boolean;
                };
                readonly not_ended: number;
            };
            readonly not_ended: readonly {
                readonly accessor: string;
                readonly cause: string;
            }[];
            readonly unrevoked_leases: {
                readonly waiting: number;
                readonly failing: number;
                readonly removed: number;
                readonly more: boolean;
                readonly failures: readonly {
                    readonly lease_id: string;
                    readonly accessor: string;
                    readonly error: string;
                    readonly next_attempt: string | null;
                }[];
            };
            readonly accessors: readonly string[];
            readonly next: string;
        };
        readonly EndedCheck: {
            readonly checked: number;
            readonly ended: number;
            readonly unknown: number;
            readonly alive: readonly string[];
            readonly unanswered: readonly string[];
            readonly unrevoked_leases: {
                readonly waiting: number;
                readonly failing: number;
                readonly removed: number;
                readonly more: boolean;
                readonly failures: readonly {
                    readonly lease_id: string;
                    readonly accessor: string;
                    readonly error: string;
                    readonly next_attempt: string | null;
                }[];
            };
            readonly leases?: {
                readonly asked: number;
                readonly more: boolean;
                readonly ended: number | null;
            };
            readonly next: string;
        };
        readonly AuditEvents: {
            readonly events: readonly {
                readonly kind: string;
                readonly type: string;
                readonly time: string;
                readonly via?: string;
                readonly request_id?: string;
                readonly operation?: string;
                readonly path?: string;
                readonly mount?: string;
                readonly client_address?: string | null;
                readonly token_hash?: string;
                readonly status?: number;
                readonly duration_ms?: number;
                readonly error?: string;
                readonly auth?: {
                    readonly accessor: string;
                    readonly display_name: string;
                    readonly policies: readonly string[];
                    readonly entity_id: string;
                    readonly token_type: string;
                    readonly metadata: {
                        readonly [key: string]: string;
                    };
                    readonly token_hash?: string;
                };
                readonly response?: {
                    readonly auth?: {
                        readonly accessor: string;
                        readonly display_name: string;
                        readonly policies: readonly string[];
                        readonly entity_id: string;
                        readonly token_type: string;
                        readonly metadata: {
                            readonly [key: string]: string;
                        };
                        readonly token_hash?: string;
                    };
                    readonly wrap_info?: {
                        readonly accessor: string;
                        readonly wrapped_accessor?: string;
                    };
                };
                readonly target_accessor?: string;
                readonly made_id?: string;
                readonly holder_accessor?: string;
                readonly target_accessors?: readonly string[];
                readonly target_entities?: readonly string[];
                readonly revocation?: {
                    readonly dry_run: boolean;
                    readonly fields: readonly string[];
                    readonly count?: number;
                    readonly total?: number;
                    readonly job?: string;
                };
                readonly role?: string;
                readonly principal?: string;
                readonly check?: {
                    readonly name: string;
                    readonly description: string;
                };
                readonly data?: Record<string, unknown>;
                readonly count?: number;
                readonly at_most?: boolean;
                readonly from?: string;
                readonly to?: string;
            }[];
            readonly next: string;
            readonly kept_days: number;
            readonly accessor?: string;
            readonly makers?: readonly {
                readonly accessor: string;
                readonly display_name: string;
                readonly entity_id: string;
                readonly token_type: string;
                readonly made_by: string | null;
                readonly time: string;
                readonly request_id: string;
                readonly path: string;
                readonly client_address: string | null;
                readonly mount?: string;
                readonly role?: string;
                readonly principal?: string;
            }[];
            readonly uses?: readonly {
                readonly hour: string;
                readonly address: string | null;
                readonly count: number;
                readonly first: string;
                readonly last: string;
            }[];
            readonly more_uses?: boolean;
            readonly attempts?: readonly {
                readonly kind: string;
                readonly type: string;
                readonly time: string;
                readonly via?: string;
                readonly request_id?: string;
                readonly operation?: string;
                readonly path?: string;
                readonly mount?: string;
                readonly client_address?: string | null;
                readonly token_hash?: string;
                readonly status?: number;
                readonly duration_ms?: number;
                readonly error?: string;
                readonly auth?: {
                    readonly accessor: string;
                    readonly display_name: string;
                    readonly policies: readonly string[];
                    readonly entity_id: string;
                    readonly token_type: string;
                    readonly metadata: {
                        readonly [key: string]: string;
                    };
                    readonly token_hash?: string;
                };
                readonly response?: {
                    readonly auth?: {
                        readonly accessor: string;
                        readonly display_name: string;
                        readonly policies: readonly string[];
                        readonly entity_id: string;
                        readonly token_type: string;
                        readonly metadata: {
                            readonly [key: string]: string;
                        };
                        readonly token_hash?: string;
                    };
                    readonly wrap_info?: {
                        readonly accessor: string;
                        readonly wrapped_accessor?: string;
                    };
                };
                readonly target_accessor?: string;
                readonly made_id?: string;
                readonly holder_accessor?: string;
                readonly target_accessors?: readonly string[];
                readonly target_entities?: readonly string[];
                readonly revocation?: {
                    readonly dry_run: boolean;
                    readonly fields: readonly string[];
                    readonly count?: number;
                    readonly total?: number;
                    readonly job?: string;
                };
                readonly role?: string;
                readonly principal?: string;
                readonly check?: {
                    readonly name: string;
                    readonly description: string;
                };
                readonly data?: Record<string, unknown>;
                readonly count?: number;
                readonly at_most?: boolean;
                readonly from?: string;
                readonly to?: string;
            }[];
            readonly ended?: {
                readonly at: string;
                readonly how: string;
                readonly by: {
                    readonly accessor: string;
                    readonly display_name: string;
                    readonly entity_id: string;
                } | null;
                readonly cause: string;
                readonly request_id: string;
                readonly request_path: string;
                readonly job: string;
                readonly with?: number;
            };
            readonly end_is_unknown?: boolean;
            readonly below?: readonly {
                readonly accessor: string;
                readonly display_name: string;
                readonly entity_id: string;
                readonly token_type: string;
                readonly made_by: string | null;
                readonly time: string;
                readonly request_id: string;
                readonly path: string;
                readonly client_address: string | null;
                readonly mount?: string;
                readonly role?: string;
                readonly principal?: string;
                readonly depth: number;
            }[];
            readonly complete?: boolean;
            readonly below_next?: string;
        };
        readonly AuditVerification: {
            readonly objects: number;
            readonly records: number;
            readonly problems: readonly {
                readonly object: string;
                readonly problem: string;
                readonly seq: number;
            }[];
            readonly cursor: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type AuthMounts = components['schemas']['AuthMounts'];
export type ShownMounts = components['schemas']['ShownMounts'];
export type Self = components['schemas']['Self'];
export type Health = components['schemas']['Health'];
export type Doctor = components['schemas']['Doctor'];
export type MetricsHistory = components['schemas']['MetricsHistory'];
export type KeyStatus = components['schemas']['KeyStatus'];
export type Quota = components['schemas']['Quota'];
export type TidyStatus = components['schemas']['TidyStatus'];
export type TokenCounters = components['schemas']['TokenCounters'];
export type WatermarkRevocations = components['schemas']['WatermarkRevocations'];
export type IrrevocableLeases = components['schemas']['IrrevocableLeases'];
export type Lease = components['schemas']['Lease'];
export type StoredPolicy = components['schemas']['StoredPolicy'];
export type PolicyUsage = components['schemas']['PolicyUsage'];
export type PolicyVersions = components['schemas']['PolicyVersions'];
export type PolicyVersion = components['schemas']['PolicyVersion'];
export type Explanation = components['schemas']['Explanation'];
export type PolicyExplanation = components['schemas']['PolicyExplanation'];
export type RulesOfToken = components['schemas']['RulesOfToken'];
export type LoginExplanation = components['schemas']['LoginExplanation'];
export type RefusedLogins = components['schemas']['RefusedLogins'];
export type RoleTag = components['schemas']['RoleTag'];
export type Entity = components['schemas']['Entity'];
export type EntityList = components['schemas']['EntityList'];
export type EntityNames = components['schemas']['EntityNames'];
export type Group = components['schemas']['Group'];
export type TokenPage = components['schemas']['TokenPage'];
export type TokenDetail = components['schemas']['TokenDetail'];
export type EndedToken = components['schemas']['EndedToken'];
export type Token = components['schemas']['Token'];
export type FoundText = components['schemas']['FoundText'];
export type TokenSummary = components['schemas']['TokenSummary'];
export type TokenMap = components['schemas']['TokenMap'];
export type EndingTokens = components['schemas']['EndingTokens'];
export type EndedPage = components['schemas']['EndedPage'];
export type RevocationPreview = components['schemas']['RevocationPreview'];
export type RevocationCount = components['schemas']['RevocationCount'];
export type StartedRevocation = components['schemas']['StartedRevocation'];
export type RevocationJob = components['schemas']['RevocationJob'];
export type RevocationJobs = components['schemas']['RevocationJobs'];
export type Receipt = components['schemas']['Receipt'];
export type EndedCheck = components['schemas']['EndedCheck'];
export type AuditEvents = components['schemas']['AuditEvents'];
export type AuditVerification = components['schemas']['AuditVerification'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
