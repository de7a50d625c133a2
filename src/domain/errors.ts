/**
 * The one catalogue of errors. A code is permanent; it decides what everybody does:
 * `status` answers HTTP, `handling` decides retries ("halt": a retry cannot mend it, "retry": trying again may,
 * "wait": it mends itself at a known moment or when a person acts), `tell` whom to notify.
 * docs/errors.md has one entry per code; a test compares both ways.
 */
type Entry = {
  status: number;
  handling: "halt" | "retry" | "wait";
  tell: "caller" | "operator" | "nobody";
  says: (detail: never) => string;
};

export const ERRORS = {
  // --- callers
  unauthenticated: { status: 401, handling: "halt", tell: "caller", says: () => "a valid credential is required" },
  forbidden: {
    status: 403,
    handling: "halt",
    tell: "caller",
    says: (d: { need: string; have: string }) => `this needs the role ${d.need}; the credential has ${d.have}`,
  },
  not_found: {
    status: 404,
    handling: "halt",
    tell: "caller",
    says: (d: { what: string }) => `${d.what} does not exist`,
  },
  invalid_request: { status: 400, handling: "halt", tell: "caller", says: (d: { message: string }) => d.message },
  reason_required: {
    status: 400,
    handling: "halt",
    tell: "caller",
    says: (d: { action: string }) => `${d.action} needs a reason: send {"reason": "…"}`,
  },
  already_exists: {
    status: 409,
    handling: "halt",
    tell: "caller",
    says: (d: { what: string }) => `${d.what} exists already`,
  },
  login_link_invalid: {
    status: 403,
    handling: "halt",
    tell: "caller",
    says: () => "the login link is unknown, used or older than 15 minutes; start the server again for a new one",
  },
  cross_origin: {
    status: 403,
    handling: "halt",
    tell: "caller",
    says: () => "a session acts only for pages of this server; automation uses an API token",
  },
  payload_too_large: {
    status: 413,
    handling: "halt",
    tell: "caller",
    says: (d: { maxBytes: number }) => `the body is larger than ${d.maxBytes} bytes`,
  },
  unsupported_media_type: {
    status: 415,
    handling: "halt",
    tell: "caller",
    says: (d: { want: string }) => `send ${d.want}`,
  },
  rate_limited: {
    status: 429,
    handling: "wait",
    tell: "caller",
    says: (d: { retryAfterS: number }) => `too many requests; try again in ${d.retryAfterS} s`,
  },
  internal: {
    status: 500,
    handling: "retry",
    tell: "operator",
    says: () => "an internal error occurred; the server's log has it under this request id",
  },
  database_unavailable: {
    status: 503,
    handling: "retry",
    tell: "operator",
    says: () => "the database does not answer; work resumes when it does",
  },
  temporal_unavailable: {
    status: 503,
    handling: "retry",
    tell: "operator",
    says: () => "the Temporal server does not answer; work resumes when it does",
  },
  // --- agents
  malformed_message: {
    status: 400,
    handling: "halt",
    tell: "operator",
    says: (d: { because: string }) => `this is no OpAMP message: ${d.because}`,
  },
  too_many_messages: {
    status: 429,
    handling: "wait",
    tell: "operator",
    says: () => "the agent sends faster than its messages are handled; its connection was ended",
  },
  reader_too_slow: {
    status: 408,
    handling: "wait",
    tell: "operator",
    says: () => "the agent does not read what it is sent; its connection was ended",
  },
  message_too_slow: {
    status: 408,
    handling: "wait",
    tell: "operator",
    says: () => "a message was begun and not finished in time; the connection was ended",
  },
  server_busy: {
    status: 503,
    handling: "wait",
    tell: "nobody",
    says: (d: { retryAfterS: number }) => `too many agents at once; come back in ${d.retryAfterS} s`,
  },
  // --- configuration of our own programs
  config_invalid: {
    status: 500,
    handling: "halt",
    tell: "operator",
    says: (d: { issues: string }) => `the configuration is not valid:\n${d.issues}`,
  },
  // --- Git
  sync_failed: {
    status: 502,
    handling: "retry",
    tell: "operator",
    says: (d: { message: string }) => `the repository could not be read: ${d.message}`,
  },
  webhook_not_configured: {
    status: 404,
    handling: "halt",
    tell: "caller",
    says: () => "no webhook secret is configured",
  },
  // --- controls
  control_conflict: {
    status: 409,
    handling: "halt",
    tell: "caller",
    says: (d: { control: string; because: string }) => `${d.control} is not possible: ${d.because}`,
  },
  control_unanswered: {
    status: 503,
    handling: "retry",
    tell: "caller",
    says: (d: { control: string }) => `no worker answered ${d.control} in time; repeating it is safe`,
  },
  // --- offers (why a target cannot be offered)
  updater_missing: {
    status: 409,
    handling: "wait",
    tell: "operator",
    says: (d: { host: string }) => `${d.host} has no linked updater`,
  },
  updater_mismatch: {
    status: 409,
    handling: "wait",
    tell: "operator",
    says: (d: { host: string; because: string }) => `the updater of ${d.host} may not be linked: ${d.because}`,
  },
  wrong_distribution: {
    status: 409,
    handling: "wait",
    tell: "operator",
    says: (d: { want: string; have: string }) => `the fleet wants ${d.want}, the host runs ${d.have}`,
  },
  unsupported_platform: {
    status: 409,
    handling: "wait",
    tell: "operator",
    says: (d: { platform: string }) => `no archive exists for platform ${d.platform}`,
  },
  capability_off: {
    status: 409,
    handling: "wait",
    tell: "operator",
    says: (d: { capability: string }) => `the agent does not report the capability ${d.capability}`,
  },
  downgrade_not_allowed: {
    status: 409,
    handling: "wait",
    tell: "operator",
    says: (d: { from: string; to: string }) => `from ${d.from} to ${d.to} is a downgrade that the fleet does not allow`,
  },
  no_way_back: {
    status: 409,
    handling: "halt",
    tell: "operator",
    says: (d: { version: string }) => `the server has no signed artifact of ${d.version}`,
  },
  render_failed: {
    status: 409,
    handling: "wait",
    tell: "operator",
    says: (d: { message: string }) => `the configuration does not render: ${d.message}`,
  },
  incompatible: {
    status: 409,
    handling: "wait",
    tell: "operator",
    says: (d: { host: string; missing: string }) => `the collector on ${d.host} has no ${d.missing}`,
  },
  // --- commands to one agent
  not_supported: {
    status: 409,
    handling: "halt",
    tell: "caller",
    says: (d: { host: string; capability: string }) => `${d.host} does not report the capability ${d.capability}`,
  },
  agent_not_connected: {
    status: 409,
    handling: "wait",
    tell: "caller",
    says: (d: { host: string }) => `${d.host} is not connected; it gets what it should have when it is back`,
  },
  attempt_in_flight: {
    status: 409,
    handling: "wait",
    tell: "caller",
    says: (d: { host: string; because: string }) => `${d.host} is being changed: ${d.because}`,
  },
  command_unanswered: {
    status: 503,
    handling: "retry",
    tell: "caller",
    says: (d: { host: string }) => `nobody answered for ${d.host} in time; repeating it is safe`,
  },
  // --- artifacts
  artifact_incomplete: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { asset: string; missing: string }) =>
      `release too old or incomplete: ${d.missing} of ${d.asset} does not exist`,
  },
  artifact_unreachable: {
    status: 502,
    handling: "retry",
    tell: "operator",
    says: (d: { url: string; message: string }) => `could not read ${d.url}: ${d.message}`,
  },
  release_index_missing: {
    status: 502,
    handling: "halt",
    tell: "operator",
    says: (d: { url: string; status: number }) =>
      `${d.url} answered ${d.status}: it does not list its releases; set artifacts.releasesFeedUrl to a feed or a listing, or artifacts.discoverEvery to 0`,
  },
  release_index_malformed: {
    status: 502,
    handling: "halt",
    tell: "operator",
    says: (d: { url: string; because: string }) => `${d.url} is no list of releases: ${d.because}`,
  },
  artifact_too_large: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { maxBytes: number }) => `the archive is larger than ${d.maxBytes} bytes`,
  },
  digest_mismatch: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { want: string; got: string }) => `the archive is ${d.got}, expected ${d.want}`,
  },
  checksum_malformed: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { asset: string }) => `the checksum file of ${d.asset} does not begin with 64 hexadecimal characters`,
  },
  not_replicated: {
    status: 409,
    handling: "wait",
    tell: "operator",
    says: (d: { have: number; want: number }) => `${d.have} of ${d.want} copies exist`,
  },
  download_refused: {
    status: 403,
    handling: "halt",
    tell: "operator",
    says: (d: { because: string }) => `the download token is refused: ${d.because}`,
  },
  downloads_busy: {
    status: 503,
    handling: "wait",
    tell: "nobody",
    says: (d: { retryAfterS: number }) => `too many downloads at once; try again in ${d.retryAfterS} s`,
  },
  // --- depots
  depot_generation: {
    status: 409,
    handling: "halt",
    tell: "nobody",
    says: (d: { sent: number; current: number }) => `sent generation ${d.sent}, the depot is at ${d.current}`,
  },
  depot_set: {
    status: 409,
    handling: "halt",
    tell: "nobody",
    says: (d: { sent: string; current: string; generation: number }) =>
      `asked about the set ${d.sent.slice(0, 12)}, the depot keeps ${d.current.slice(0, 12)} at generation ${d.generation}`,
  },
  depot_epoch: {
    status: 409,
    handling: "halt",
    tell: "operator",
    says: (d: { sent: string; current: string }) => `sent epoch ${d.sent}, the depot belongs to ${d.current}`,
  },
  depot_no_config: {
    status: 400,
    handling: "retry",
    tell: "nobody",
    says: () => "the depot has no artifact configuration yet",
  },
  depot_config_unreadable: {
    status: 503,
    handling: "halt",
    tell: "operator",
    says: (d: { path: string }) => `the artifact configuration at ${d.path} is unreadable; adopt or repair the node`,
  },
  depot_unwanted: {
    status: 400,
    handling: "halt",
    tell: "nobody",
    says: (d: { digest: string }) => `${d.digest} is not in the current configuration`,
  },
  depot_held: {
    status: 400,
    handling: "halt",
    tell: "operator",
    says: (d: { digests: string; count: number }) =>
      `the configuration drops ${d.count} held artifacts (${d.digests}): name them in "released" when that is meant`,
  },
  depot_cancelled: { status: 409, handling: "halt", tell: "nobody", says: () => "the transfer was ended on request" },
  depot_full: { status: 507, handling: "retry", tell: "operator", says: () => "no disk has room" },
  depot_no_disk: { status: 503, handling: "retry", tell: "operator", says: () => "no disk is usable" },
  depot_busy: { status: 429, handling: "wait", tell: "nobody", says: () => "all transfer slots are taken" },
  depot_removal_unsafe: {
    status: 409,
    handling: "halt",
    tell: "caller",
    says: (d: { node: string; because: string }) =>
      `${d.node} is not removed: ${d.because}; drain it and it leaves by itself, or say force with a reason`,
  },
  depot_source_refused: {
    status: 403,
    handling: "halt",
    tell: "operator",
    says: (d: { origin: string }) => `${d.origin} is not a registered node`,
  },
  depot_source_failed: {
    status: 500,
    handling: "retry",
    tell: "nobody",
    says: (d: { message: string }) => `the source did not answer: ${d.message}`,
  },
  depot_digest_mismatch: {
    status: 400,
    handling: "retry",
    tell: "operator",
    says: (d: { want: string; got: string }) => `the bytes received are ${d.got}, expected ${d.want}`,
  },
  depot_short_body: {
    status: 400,
    handling: "retry",
    tell: "nobody",
    says: (d: { want: number; got: number }) => `the transfer ended after ${d.got} of ${d.want} bytes`,
  },
  depot_offset: {
    status: 409,
    handling: "retry",
    tell: "nobody",
    says: (d: { sent: number; have: number }) => `the body begins at ${d.sent}, the depot has ${d.have} bytes`,
  },
  depot_config_needed: {
    status: 428,
    handling: "halt",
    tell: "nobody",
    says: () => "the depot does not have this configuration yet: send the whole list",
  },
  depot_io: {
    status: 500,
    handling: "retry",
    tell: "operator",
    says: (d: { message: string }) => `no disk could do it: ${d.message}`,
  },
  depot_stopping: { status: 503, handling: "retry", tell: "nobody", says: () => "the depot is stopping" },
  depot_unreachable: {
    status: 502,
    handling: "retry",
    tell: "nobody",
    says: (d: { url: string; message: string }) => `the depot at ${d.url} does not answer: ${d.message}`,
  },
  artifact_revoked: {
    status: 409,
    handling: "wait",
    tell: "operator",
    says: (d: { reason: string }) => `the release was revoked: ${d.reason}`,
  },
  artifact_redirect_refused: {
    status: 502,
    handling: "halt",
    tell: "operator",
    says: (d: { url: string; because: string }) => `the source redirects to ${d.url}, which is refused: ${d.because}`,
  },
  artifact_changed: {
    status: 409,
    handling: "halt",
    tell: "operator",
    says: (d: { asset: string }) => `${d.asset} was verified with other bytes before; a release never changes`,
  },
  artifact_unavailable: {
    status: 503,
    handling: "wait",
    tell: "operator",
    says: (d: { retryAfterS: number }) => `no depot can serve the archive now; try again in ${d.retryAfterS} s`,
  },
  no_source: {
    status: 503,
    handling: "wait",
    tell: "nobody",
    says: (d: { sha256: string }) => `no node has ${d.sha256} yet`,
  },
  no_staging_here: {
    status: 503,
    handling: "wait",
    tell: "operator",
    says: () =>
      "this host takes no uploads: no worker that shares its artifacts.stagingDir is running here; ask a replica that has one, or start one",
  },
  upload_no_room: {
    status: 507,
    handling: "halt",
    tell: "caller",
    says: (d: { because: string }) => `upload would not fit: ${d.because}`,
  },
  upload_offset: {
    status: 409,
    handling: "retry",
    tell: "caller",
    says: (d: { asset: string; received: number }) =>
      `${d.received} bytes of ${d.asset} are here; send what follows them`,
  },
  upload_cut: {
    status: 400,
    handling: "retry",
    tell: "caller",
    says: (d: { because: string }) =>
      `the piece was cut (${d.because}); what came is kept: open the upload again to go on`,
  },
  upload_refused: {
    status: 422,
    handling: "halt",
    tell: "caller",
    says: (d: { asset: string; code: string; because: string }) => `${d.asset} is refused: ${d.because} (${d.code})`,
  },
  upload_busy: {
    status: 409,
    handling: "retry",
    tell: "caller",
    says: (d: { asset: string }) => `${d.asset} is being sent by another request; try again when it has ended`,
  },
  upload_unfinished: {
    status: 409,
    handling: "halt",
    tell: "caller",
    says: (d: { missing: string }) =>
      `not everything has arrived: ${d.missing} is missing; open the upload again to go on`,
  },
  release_needed: {
    status: 409,
    handling: "wait",
    tell: "caller",
    says: (d: { release: string; users: string }) => `${d.release} is needed by ${d.users}`,
  },
  staging_gone: {
    status: 503,
    handling: "retry",
    tell: "nobody",
    says: (d: { sha256: string }) => `the staged copy of ${d.sha256} is not on this host any more`,
  },
  // --- signatures: one code per rule (design/sigstore section 1)
  signature_missing: { status: 422, handling: "halt", tell: "operator", says: () => "the artifact has no signature" },
  signature_legacy: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: () => "legacy signature format not supported (needs online Rekor)",
  },
  bundle_malformed: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { message: string }) => `not a Sigstore bundle: ${d.message}`,
  },
  bundle_not_message_signature: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: () => "only message signatures count; attestations are refused",
  },
  bundle_no_certificate: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: () => "the bundle names no signing certificate",
  },
  bundle_oversized: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { what: string; max: number }) => `the bundle has more than ${d.max} ${d.what}`,
  },
  bundle_digest_mismatch: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: () => "the bundle signs other bytes",
  },
  bundle_entry_mismatch: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: () => "the log entry names another certificate",
  },
  bundle_no_log_entry: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: () => "the bundle has no transparency log entry",
  },
  bundle_no_certificate_timestamp: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: () => "the certificate has no signed certificate timestamp",
  },
  bundle_no_timestamp: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: () => "nothing in the bundle proves when it was signed: no signed log time and no timestamp",
  },
  bundle_key_unsupported: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { key: string }) => `only ECDSA P-256 with SHA-256 is accepted; the signing key is ${d.key}`,
  },
  bundle_untrusted: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { message: string }) => `the signature does not verify: ${d.message}`,
  },
  identity_mismatch: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { identity: string }) => `the signer ${d.identity} is not accepted`,
  },
  identity_version_mismatch: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { identity: string; version: string }) =>
      `the signer ${d.identity} signed another release than v${d.version}`,
  },
  identity_repository_mismatch: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: () => "the signing run belongs to another repository than its identity names",
  },
  identity_pattern_refused: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { because: string }) => `the identity pattern is refused: ${d.because}`,
  },
  issuer_mismatch: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { issuer: string }) => `the certificate was issued for ${d.issuer}`,
  },
  trusted_root_unreadable: {
    status: 422,
    handling: "halt",
    tell: "operator",
    says: (d: { message: string }) => `the trusted root cannot be used: ${d.message}`,
  },
} as const satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof ERRORS;
export type DetailOf<C extends ErrorCode> = Parameters<(typeof ERRORS)[C]["says"]> extends [infer D] ? D : undefined;

/** A failure with a permanent code. Its message is for people and never carries a secret; `cause` stays in the log. */
export class Failure<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name = "Failure";
  readonly code: C;
  readonly detail: DetailOf<C>;
  constructor(code: C, detail: DetailOf<C>, cause?: unknown) {
    super((ERRORS[code].says as (d: unknown) => string)(detail), cause === undefined ? undefined : { cause });
    this.code = code;
    this.detail = detail;
  }
  get status(): number {
    return ERRORS[this.code].status;
  }
  get handling(): Entry["handling"] {
    return ERRORS[this.code].handling;
  }
}

/** Makes a failure to throw. Codes without detail take `undefined`. */
export function failure<C extends ErrorCode>(code: C, detail: DetailOf<C>, cause?: unknown): Failure<C> {
  return new Failure(code, detail, cause);
}

export function isFailure(error: unknown): error is Failure {
  return error instanceof Failure;
}
