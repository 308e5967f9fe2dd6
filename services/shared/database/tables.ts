// The columns of all tables after the last migration, as the driver gives them to the services. Written by `npm run tables`
// from a migrated database; a test compares it. Rows of statements are made of it (row.ts).

export interface Tables {
  archive_keys: {
    backup_id: string;
    tenant_id: number | null;
    master_version: number;
    wrapped: Buffer;
    created_at: string;
    closed_at: string | null;
  };
  audit_checkpoints: {
    number: string;
    document: string;
    tenant_ids: number[];
    created_at: string;
  };
  audit_entries: {
    id: string;
    tenant_id: number;
    seq: string;
    user_id: number | null;
    action: string;
    target_type: string | null;
    target_id: string | null;
    outcome: "ok" | "denied" | "error";
    changes: unknown;
    ip: string | null;
    user_agent: string | null;
    request_id: string | null;
    created_at: string;
    prev_hash: Buffer;
    hash: Buffer;
  };
  audit_heads: {
    tenant_id: number;
    seq: string;
    hash: Buffer;
  };
  audit_proofs: {
    tenant_id: number;
    seq: string;
    hash: Buffer;
    signed_at: string;
    proved_at: string | null;
    first_bad_seq: string | null;
  };
  audit_repeats: {
    tenant_id: number;
    key: Buffer;
    user_id: number | null;
    action: string;
    target_type: string | null;
    target_id: string | null;
    outcome: string;
    changes: unknown;
    ip: string | null;
    user_agent: string | null;
    request_id: string | null;
    times: number;
    first_at: string | null;
    last_at: string | null;
    seconds: number;
    ends_at: string;
  };
  audit_signing_keys: {
    key_id: string;
    public_key: string;
    first_used_at: string;
  };
  audit_sinks: {
    name: string;
    last_number: string;
    taken_at: string;
  };
  backup_jobs: {
    id: string;
    kind: "backup" | "restore" | "test";
    type: "full" | "tenant";
    tenant_id: number | null;
    backup_id: string;
    reason: "manual" | "nightly" | "safety";
    status: "queued" | "running" | "verifying" | "succeeded" | "failed";
    step: string;
    percent: number;
    rows_done: string;
    bytes_done: string;
    error_code: string | null;
    error: string | null;
    safety_backup_id: string | null;
    tries: number;
    leased_by: string | null;
    leased_until: string | null;
    created_by: number | null;
    operator: string | null;
    created_at: string;
    started_at: string | null;
    finished_at: string | null;
  };
  backup_tickets: {
    token_hash: Buffer;
    tenant_id: number;
    session_id: string;
    backup_id: string;
    expires_at: string;
  };
  backups: {
    id: string;
    type: "full" | "tenant";
    tenant_id: number | null;
    reason: "manual" | "nightly" | "safety";
    state: "complete" | "removing";
    schema_version: string;
    key_version: number;
    size_bytes: string;
    rows: string;
    sha256: string;
    created_by: number | null;
    created_at: string;
    verified_at: string;
    tested_at: string | null;
    test_passed: boolean | null;
  };
  daily_counts: {
    tenant_id: number;
    kind: string;
    day: string;
    taken: string;
    bound: string;
    reached_at: string | null;
    last_at: string | null;
    told_at: string | null;
  };
  data_keys: {
    id: number;
    tenant_id: number;
    purpose: "field" | "index";
    master_version: number;
    wrapped: Buffer | null;
    state: "primary" | "decrypt_only" | "destroyed";
    created_at: string;
    demoted_at: string | null;
  };
  database_logins: {
    login: string;
    services: string[];
    audits: string[];
    refuses: boolean;
    tells: string[];
    enqueues: string[];
  };
  deliveries: {
    id: string;
    tenant_id: number;
    target_id: number;
    event_id: string;
    seq: string;
    kind: string;
    payload: unknown;
    occurred_at: string;
    state: "pending" | "succeeded" | "failed" | "canceled";
    cause: "scheduled" | "manual" | "recover";
    attempts: number;
    tries: number;
    due_at: string;
    created_at: string;
    finished_at: string | null;
    trace: string | null;
  };
  delivery_attempts: {
    id: string;
    tenant_id: number;
    delivery_id: string;
    cause: string;
    status_code: number | null;
    duration_ms: number;
    error: string | null;
    response: string | null;
    attempted_at: string;
  };
  delivery_targets: {
    id: number;
    tenant_id: number;
    channel: "webhook" | "messenger";
    events: string[];
    is_active: boolean;
    last_seq: string;
    wakes: string;
    next_due_at: string | null;
    leased_by: string | null;
    leased_until: string | null;
    created_at: string;
    updated_at: string;
    deleted_at: string | null;
  };
  departments: {
    id: number;
    tenant_id: number;
    name: string;
    head_doctor_id: number | null;
    created_at: string;
    updated_at: string;
  };
  events: {
    id: string;
    tenant_id: number;
    kind: string;
    payload: unknown;
    created_at: string;
    trace: string | null;
  };
  fan_out_queue: {
    tenant_id: number;
    event_id: string;
  };
  fault_looks: {
    code: string;
    looked_at: string;
    cursor: string | null;
    found: number;
    targets: number | null;
    duration_ms: number;
    silent: string[];
  };
  fixes: {
    id: number;
    code: string;
    title: string;
    problem: string;
    remedy: string | null;
    risk: "low" | "medium" | "high";
    seeded_hash: Buffer;
    status: "proposed" | "confirmed" | "suspended";
    suspended_reason: "failures" | "mass" | null;
    confirmed_by: number | null;
    confirmed_at: string | null;
    occurrences: number;
    healed: number;
    failed: number;
    last_detected_at: string | null;
    last_healed_at: string | null;
    told_at: string | null;
    created_at: string;
    deleted_at: string | null;
  };
  incident_steps: {
    id: string;
    incident_id: string;
    fix_id: number;
    tenant_id: number | null;
    step: "detected" | "trying" | "healed" | "try_failed" | "failed" | "reopened" | "ended" | "dismissed";
    facts: unknown;
    at: string;
  };
  incidents: {
    id: string;
    fix_id: number;
    tenant_id: number | null;
    code: string;
    service: string;
    target: string;
    status: "open" | "healing" | "healed" | "failed" | "ended" | "dismissed";
    evidence: unknown;
    would_do: string | null;
    tries: number;
    next_try_at: string;
    detected_at: string;
    last_seen_at: string;
    tried_at: string | null;
    ended_at: string | null;
  };
  known_origins: {
    tenant_id: number;
    user_id: number;
    address: string;
    created_at: string;
    seen_at: string;
  };
  lockouts: {
    tenant_id: number;
    state: unknown;
    updated_at: string;
    account: string;
  };
  mail_tokens: {
    tenant_id: number;
    user_id: number;
    kind: "verify_email" | "reset_password";
    token_hash: Buffer;
    created_at: string;
    expires_at: string;
    slot: number;
    known: boolean;
    request: string | null;
  };
  master_keys: {
    version: number;
    wrapped: Buffer | null;
    fingerprint: Buffer;
    state: "primary" | "decrypt_only" | "destroyed";
    created_at: string;
    destroyed_at: string | null;
  };
  messenger_bots: {
    bot: string;
    leased_by: string | null;
    leased_until: string | null;
    state: "ok" | "down";
    username: string | null;
    down_since: string | null;
  };
  messenger_codes: {
    chat_id: string;
    code_hash: Buffer | null;
    display_name: string;
    expires_at: string;
  };
  messenger_links: {
    id: number;
    tenant_id: number;
    user_id: number;
    chat_id: string;
    display_name: string;
    events: string[];
    linked_at: string;
    ended_at: string | null;
    ended_reason: "user_blocked" | "user_deleted" | "tenant_deleted" | null;
  };
  messenger_updates: {
    bot: string;
    update_id: string;
    taken_at: string;
  };
  mikro_orm_migrations: {
    id: number;
    name: string;
    executed_at: string;
  };
  patient_records: {
    id: number;
    tenant_id: number;
    patient_id: number;
    author_id: number | null;
    kind: string;
    body: Buffer;
    created_at: string;
  };
  patients: {
    id: number;
    tenant_id: number;
    department_id: number | null;
    record_number: string;
    record_key: string;
    notes: Buffer | null;
    full_name_index: Buffer;
    phone_index: Buffer | null;
    version: number;
    created_at: string;
    updated_at: string;
    deleted_at: string | null;
    stamp: string;
    identity: Buffer;
  };
  payment_notifications: {
    provider: string;
    notification_id: string;
    type: string;
    body_hash: Buffer;
    state: "applied" | "stale" | "ignored" | "unverified" | "unknown_tenant" | "inactive_tenant";
    tenant_id: number | null;
    payment_id: string | null;
    occurred_at: string | null;
    received_at: string;
  };
  payments: {
    id: number;
    tenant_id: number;
    provider: string;
    payment_id: string;
    status: "pending" | "succeeded" | "failed" | "refunded";
    amount: string;
    currency: string;
    occurred_at: string;
    pending_at: string | null;
    failed_at: string | null;
    succeeded_at: string | null;
    refunded_at: string | null;
    newest_at: string;
    newest_id: string;
    version: number;
    created_at: string;
    updated_at: string;
  };
  preferences: {
    tenant_id: number;
    user_id: number;
    theme: "light" | "dark" | "system";
    settings: unknown;
    updated_at: string;
  };
  quarantined_fields: {
    tenant_id: number;
    table_name: string;
    row_id: number;
    column_name: string;
    key_id: string | null;
    reason: "format" | "key" | "authentication";
    rotation_id: number;
    found_at: string;
  };
  rate_limits: {
    key: string;
    points: number;
    expire: string | null;
  };
  registrations: {
    tenant_id: number;
    user_id: number;
    ip: string | null;
    settled: boolean;
    created_at: string;
  };
  rotation_tenants: {
    rotation_id: number;
    tenant_id: number;
    pass: number;
    place: number;
    after_id: number;
  };
  rotations: {
    id: number;
    master_version: number;
    previous_version: number;
    state: "running" | "finished";
    rewrapped: number;
    rows_total: string;
    rows_done: string;
    tenants_total: number;
    started_at: string;
    finished_at: string | null;
    leased_by: string | null;
    leased_until: string;
    seen_at: string | null;
    walked_ms: string;
  };
  schedule_occurrences: {
    task: string;
    due: string;
  };
  schema_compatibility: {
    migration: string;
    oldest: string;
    migrated_by: string;
  };
  sessions: {
    id: string;
    tenant_id: number;
    user_id: number;
    user_epoch: number;
    tenant_epoch: number;
    ip: string | null;
    user_agent: string | null;
    created_at: string;
    expires_at: string;
    ended_at: string | null;
  };
  tenant_freezes: {
    tenant_id: number;
    job_id: string;
    frozen_at: string;
    until: string;
  };
  tenants: {
    id: number;
    name: string;
    subdomain: string;
    settings: unknown;
    is_active: boolean;
    session_epoch: number;
    created_at: string;
    updated_at: string;
    deleted_at: string | null;
  };
  user_counts: {
    tenant_id: number;
    role: string;
    is_active: boolean;
    users: number;
  };
  users: {
    id: number;
    tenant_id: number;
    department_id: number | null;
    email: string;
    full_name: string;
    role: "superadmin" | "admin" | "head_doctor" | "doctor" | "nurse" | "registrar";
    can_see_all_patients: boolean;
    is_active: boolean;
    approved_at: string | null;
    email_verified: boolean;
    password_hash: string;
    session_epoch: number;
    created_at: string;
    updated_at: string;
    deleted_at: string | null;
    search_text: string;
  };
  webhooks: {
    id: number;
    tenant_id: number;
    url: string;
    secret: Buffer;
    previous_secret: Buffer | null;
    previous_secret_until: string | null;
    failing_since: string | null;
    disabled_at: string | null;
    disabled_reason: "gone" | "failing" | null;
  };
}
