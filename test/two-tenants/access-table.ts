/**
 * The access rule of each operation, as in spec/operations.md: the permission that it requires (or `any` for any valid
 * credential, or `platform` for super-admins), followed by these words if they apply: - `+ runner`: the operation also
 * accepts the runner key of the agent in the path. - `+ runner only`: it accepts only that key. Other callers are
 * refused as if they lacked the permission. - `in body`: the permission is required on the agent whose id is in the
 * body. - `on delivery`: it requires tenant:integrations:read, or agent:chat:read on the agent of the delivery. - `on
 * session`: the permission is required on the agent of the session or delivery. - `on reservation`: only the runner has access. For all other callers, the
 * reservation does not exist. - `on own sign-in`: only the user who signed in has access, in the dataset with the API
 * key of the sign-in. Runner keys are refused; for all other callers, the sign-in does not exist. - `in a tenant of the
 * caller`: the path contains no tenant. The agent may be in any tenant of the credential. - `of a user`: runner keys,
 * and API keys with a lower role than that of their owner, are refused. - `but runners`: runner keys are refused. -
 * `but guests`: super-admins who are not members are refused, even if the tenant is open to them. - `naming an agent`:
 * the body names an agent. Callers who may see no agent get the same 422 as for a missing one.
 */
export const ACCESS_TABLE = `
GET    /tenant/{tenant_id}                                              tenant:read
PATCH  /tenant/{tenant_id}                                              tenant:settings:write
GET    /tenant/{tenant_id}/history                                      tenant:read
GET    /tenant/{tenant_id}/overview                                     tenant:read
GET    /tenant/{tenant_id}/overview/counts                              tenant:read
GET    /tenant/{tenant_id}/diff                                         tenant:read
POST   /tenant/{tenant_id}/close                                        tenant:close
POST   /tenant/{tenant_id}/reopen                                       tenant:close
GET    /tenant/{tenant_id}/members                                      tenant:read
POST   /tenant/{tenant_id}/members                                      tenant:members:write
GET    /tenant/{tenant_id}/members/activity                             tenant:audit:read
GET    /tenant/{tenant_id}/members/{user_id}                            tenant:audit:read
PATCH  /tenant/{tenant_id}/members/{user_id}                            tenant:members:write
DELETE /tenant/{tenant_id}/members/{user_id}                            tenant:members:write
POST   /tenant/{tenant_id}/members/{user_id}/invitation                 tenant:members:write
GET    /tenant/{tenant_id}/api-keys                                     tenant:keys:write
POST   /tenant/{tenant_id}/api-keys                                     tenant:keys:write
PATCH  /tenant/{tenant_id}/api-keys/{id}                                tenant:keys:write
DELETE /tenant/{tenant_id}/api-keys/{id}                                tenant:keys:write
GET    /tenant/{tenant_id}/runners                                      tenant:read
GET    /tenant/{tenant_id}/cron-occurrences                             tenant:read
GET    /tenant/{tenant_id}/cron-occurrences/summary                     tenant:read
GET    /tenant/{tenant_id}/agents                                       tenant:read
POST   /tenant/{tenant_id}/agents                                       tenant:agents:create
GET    /tenant/{tenant_id}/agents/activity                              tenant:read
GET    /tenant/{tenant_id}/agents/summary                               tenant:read
GET    /tenant/{tenant_id}/agents/{agent_id}                            agent:read + runner
PATCH  /tenant/{tenant_id}/agents/{agent_id}                            agent:settings:write
DELETE /tenant/{tenant_id}/agents/{agent_id}                            agent:delete
POST   /tenant/{tenant_id}/agents/{agent_id}/restore                    agent:delete
GET    /tenant/{tenant_id}/agents/{agent_id}/history                    agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/diff                       agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/can-author-skills          agent:roles:write
PUT    /tenant/{tenant_id}/agents/{agent_id}/skill-visibility-scope     agent:skills:write
PUT    /tenant/{tenant_id}/agents/{agent_id}/repo                       agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/repo-refs                  agent:read
PATCH  /tenant/{tenant_id}/agents/{agent_id}/code-ref                   agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/budget                     agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/budget                     agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/slack-config               agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/slack-config               agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/models                     agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/models                     agent:settings:write
PUT    /tenant/{tenant_id}/agents/{agent_id}/favorite                   agent:read
DELETE /tenant/{tenant_id}/agents/{agent_id}/favorite                   agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/integrations               agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/mailboxes                  agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/attachments                agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/attachments/{id}           agent:chat:read + runner
GET    /tenant/{tenant_id}/agents/{agent_id}/messages                   agent:chat:read
GET    /tenant/{tenant_id}/agents/{agent_id}/messages/{message_id}      agent:chat:read
POST   /tenant/{tenant_id}/agents/{agent_id}/messages/{message_id}/attachments agent:assign + runner
POST   /tenant/{tenant_id}/agents/{agent_id}/mail                       agent:assign + runner
POST   /tenant/{tenant_id}/agents/{agent_id}/transfer-ownership         agent:ownership:transfer
GET    /tenant/{tenant_id}/agents/{agent_id}/roles                      agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/roles/{user_id}            agent:roles:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/roles/{user_id}            agent:roles:write
GET    /tenant/{tenant_id}/agents/{agent_id}/grants                     agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/grants                     agent:roles:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/grants/{user_id}           agent:roles:write
PUT    /tenant/{tenant_id}/agent-grants                                 agent:roles:write in body
GET    /tenant/{tenant_id}/agent-role-permissions                       tenant:read
PUT    /tenant/{tenant_id}/agent-role-permissions                       tenant:settings:write
GET    /tenant/{tenant_id}/redaction-patterns                           tenant:read
PUT    /tenant/{tenant_id}/redaction-patterns                           tenant:settings:write
POST   /tenant/{tenant_id}/redaction-patterns/test                      tenant:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/effective-permissions      agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/runner-keys                agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/runner-keys                agent:settings:write & agent:skills:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/runner-keys/{id}           agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/runner-credentials         agent:settings:write + runner
POST   /tenant/{tenant_id}/agents/{agent_id}/runner-credentials         agent:settings:write + runner
DELETE /tenant/{tenant_id}/agents/{agent_id}/runner-credentials/{id}    agent:settings:write
GET    /tenant/{tenant_id}/audit-logs                                   tenant:audit:read
GET    /tenant/{tenant_id}/audit-logs/export                            tenant:audit:read
GET    /tenant/{tenant_id}/changes                                      tenant:read but guests
GET    /tenant/{tenant_id}/audit-logs/facets                            tenant:audit:read
GET    /tenant/{tenant_id}/audit-logs/heads                             tenant:audit:read
GET    /tenant/{tenant_id}/audit-logs/keys                              tenant:audit:read
GET    /tenant/{tenant_id}/audit-logs/proof                             tenant:audit:read
GET    /tenant/{tenant_id}/events                                       tenant:audit:read
GET    /tenant/{tenant_id}/events/{event_id}                            tenant:audit:read
GET    /tenant/{tenant_id}/effective-permissions                        tenant:audit:read
POST   /tenant/{tenant_id}/effective-permissions/preview                tenant:read
GET    /tenant/{tenant_id}/models                                       tenant:read
POST   /tenant/{tenant_id}/models/{model_id}/agents                     agent:settings:write in body
DELETE /tenant/{tenant_id}/models/{model_id}/agents/{agent_id}          agent:settings:write
GET    /tenant/{tenant_id}/tools                                        tenant:read
POST   /tenant/{tenant_id}/tools                                        tenant:tools:write
GET    /tenant/{tenant_id}/tools/{tool_id}/history                      tenant:read
GET    /tenant/{tenant_id}/tools/{tool_id}/diff                         tenant:read
GET    /tenant/{tenant_id}/tools/{tool_id}                              tenant:read
PATCH  /tenant/{tenant_id}/tools/{tool_id}                              tenant:tools:write
DELETE /tenant/{tenant_id}/tools/{tool_id}                              tenant:tools:write
PUT    /tenant/{tenant_id}/connectors/{connector}/tools                 tenant:tools:write
GET    /tenant/{tenant_id}/agents/{agent_id}/tools                      agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/tools                      agent:tools:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/tools/{tool_id}            agent:tools:write
GET    /tenant/{tenant_id}/webhook-integrations                         tenant:read
POST   /tenant/{tenant_id}/webhook-integrations                         tenant:integrations:write
GET    /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:read
PATCH  /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:integrations:write
DELETE /tenant/{tenant_id}/webhook-integrations/{id}                    tenant:integrations:write
POST   /tenant/{tenant_id}/webhook-integrations/{id}/rotate-secret      tenant:integrations:write
DELETE /tenant/{tenant_id}/webhook-integrations/{id}/previous-secret    tenant:integrations:write
GET    /tenant/{tenant_id}/webhook-integrations/{id}/guardrails         tenant:integrations:read
PUT    /tenant/{tenant_id}/webhook-integrations/{id}/guardrails         tenant:integrations:write
GET    /tenant/{tenant_id}/guardrails                                   tenant:integrations:read
PUT    /tenant/{tenant_id}/guardrails                                   tenant:integrations:write
GET    /tenant/{tenant_id}/guardrails/summary                           tenant:integrations:read
POST   /tenant/{tenant_id}/guardrails/try                               tenant:integrations:read
GET    /tenant/{tenant_id}/webhook-integrations/{id}/deliveries         tenant:read on delivery
POST   /tenant/{tenant_id}/webhook-integrations/{id}/test-delivery      tenant:integrations:write
POST   /tenant/{tenant_id}/webhook-integrations/{id}/replay             tenant:integrations:write
GET    /tenant/{tenant_id}/jobs                                         tenant:read
GET    /tenant/{tenant_id}/jobs/{id}                                    tenant:integrations:read
POST   /tenant/{tenant_id}/jobs/{id}/cancel                             tenant:integrations:write
GET    /tenant/{tenant_id}/deliveries                                   tenant:read
GET    /tenant/{tenant_id}/deliveries/summary                           tenant:read
GET    /tenant/{tenant_id}/deliveries/held                              tenant:read
GET    /tenant/{tenant_id}/deliveries/problems                          tenant:integrations:read
POST   /tenant/{tenant_id}/deliveries/replay                            tenant:integrations:write
GET    /tenant/{tenant_id}/deliveries/{delivery_id}                     tenant:read on delivery
GET    /tenant/{tenant_id}/deliveries/{delivery_id}/body                tenant:read on delivery + runner
POST   /tenant/{tenant_id}/deliveries/{delivery_id}/redeliver           tenant:integrations:write
POST   /tenant/{tenant_id}/deliveries/{delivery_id}/release             tenant:integrations:write
POST   /tenant/{tenant_id}/deliveries/{delivery_id}/attempts            any + runner only on session
GET    /tenant/{tenant_id}/skills                                       tenant:read
POST   /tenant/{tenant_id}/skills                                       tenant:skills:write
GET    /tenant/{tenant_id}/skills/{skill_id}                            tenant:read
GET    /tenant/{tenant_id}/skills/{skill_id}/history                    tenant:read
GET    /tenant/{tenant_id}/skills/{skill_id}/diff                       tenant:read
PATCH  /tenant/{tenant_id}/skills/{skill_id}                            tenant:skills:write
DELETE /tenant/{tenant_id}/skills/{skill_id}                            tenant:skills:write
GET    /tenant/{tenant_id}/skills/{skill_id}/webhook                    tenant:skills:write
PUT    /tenant/{tenant_id}/skills/{skill_id}/webhook                    tenant:skills:write
DELETE /tenant/{tenant_id}/skills/{skill_id}/webhook                    tenant:skills:write
POST   /tenant/{tenant_id}/skills/{skill_id}/webhook/rotate-token       tenant:skills:write
GET    /tenant/{tenant_id}/skills/{skill_id}/invocations                tenant:read
POST   /tenant/{tenant_id}/skills/import                                tenant:skills:write
POST   /tenant/{tenant_id}/agents/{agent_id}/skills/author              agent:read + runner only
GET    /tenant/{tenant_id}/agents/{agent_id}/skills                     agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/skills                     agent:skills:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/skills/{skill_id}          agent:skills:write
GET    /tenant/{tenant_id}/agents/{agent_id}/skills/{skill_id}/config   agent:skills:write
PATCH  /tenant/{tenant_id}/agents/{agent_id}/skills/{skill_id}/config   agent:skills:write
GET    /tenant/{tenant_id}/agents/{agent_id}/skills/{skill_id}/package  agent:read + runner only
GET    /tenant/{tenant_id}/agents/{agent_id}/skill-permissions          agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/skill-permissions          agent:skills:write
POST   /agents/{source_id}/clone                                        agent:read & tenant:agents:create in a tenant of the caller
GET    /tenant/{tenant_id}/agents/{agent_id}/runner                     agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/runtime                    agent:read + runner only
POST   /tenant/{tenant_id}/agents/{agent_id}/sessions                   agent:assign + runner
GET    /tenant/{tenant_id}/agents/{agent_id}/settled-messages           agent:read + runner
GET    /tenant/{tenant_id}/agents/{agent_id}/sessions                   agent:chat:read + runner
GET    /tenant/{tenant_id}/sessions/{session_id}                        agent:chat:read + runner on session
POST   /tenant/{tenant_id}/sessions/{session_id}/messages               agent:assign + runner on session
GET    /tenant/{tenant_id}/approvals                                    tenant:read
GET    /tenant/{tenant_id}/sessions/{session_id}/messages/{message_id}/approval  agent:chat:read + runner on session
POST   /tenant/{tenant_id}/sessions/{session_id}/messages/{message_id}/decision  agent:assign + runner on session but runners
POST   /tenant/{tenant_id}/sessions/{session_id}/attachments            agent:assign + runner on session
GET    /tenant/{tenant_id}/files/{digest}                               agent:chat:read + runner on session
POST   /tenant/{tenant_id}/sessions/{session_id}/complete               any + runner only on session
POST   /tenant/{tenant_id}/sessions/{session_id}/fail                   any + runner only on session
POST   /tenant/{tenant_id}/sessions/{session_id}/cancel                 agent:assign + runner on session
POST   /tenant/{tenant_id}/sessions/{session_id}/continue               agent:assign + runner on session
PUT    /tenant/{tenant_id}/sessions/{session_id}/draft                  any + runner only on session
GET    /tenant/{tenant_id}/sessions/{session_id}/draft                  agent:chat:read + runner on session
POST   /tenant/{tenant_id}/sessions/{session_id}/interrupt              agent:assign + runner on session but runners
POST   /tenant/{tenant_id}/agents/{agent_id}/budget/reserve             agent:read + runner only
POST   /tenant/{tenant_id}/budget-reservations/{reservation_id}/settle  any + runner only on reservation
GET    /tenant/{tenant_id}/sessions                                     tenant:read
GET    /v1/tenants/{tenant_id}/sessions                                 tenant:audit:read
GET    /v1/tenants/{tenant_id}/sessions/{session_id}                    tenant:audit:read
GET    /tenant/{tenant_id}/agents/{agent_id}/cron-jobs                  agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs                  agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/preview          agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}             agent:read
PATCH  /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}             agent:settings:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}             agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/pause       agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/resume      agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/run-now     agent:settings:write
POST   /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/skip        agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/runs        agent:read
GET    /tenant/{tenant_id}/agents/{agent_id}/cron-jobs/{id}/preview     agent:read
GET    /tenant/{tenant_id}/cron-blackouts                               tenant:read
POST   /tenant/{tenant_id}/cron-blackouts                               tenant:settings:write
POST   /tenant/{tenant_id}/cron-blackouts/preview                       tenant:read naming an agent
POST   /tenant/{tenant_id}/cron-blackouts/impact                        tenant:read naming an agent
GET    /tenant/{tenant_id}/cron-blackouts/{id}                          tenant:read
PATCH  /tenant/{tenant_id}/cron-blackouts/{id}                          tenant:settings:write
DELETE /tenant/{tenant_id}/cron-blackouts/{id}                          tenant:settings:write
PUT    /tenant/{tenant_id}/brand/favicon                                tenant:settings:write
PUT    /tenant/{tenant_id}/brand/logo                                   tenant:settings:write
POST   /tenant/{tenant_id}/files/scan                                   tenant:read
POST   /tenant/{tenant_id}/marketplace/listings                         tenant:marketplace:write
POST   /tenant/{tenant_id}/marketplace/listings/{id}/versions           tenant:marketplace:write
POST   /tenant/{tenant_id}/marketplace/listings/{id}/versions/{version}/yank tenant:marketplace:write
POST   /tenant/{tenant_id}/marketplace/install                          tenant:skills:write
GET    /marketplace                                                     any
GET    /marketplace/{slug}                                              any
POST   /tenant/{tenant_id}/agents/{agent_id}/memory/import               agent:settings:write
GET    /tenant/{tenant_id}/agents/{agent_id}/memory                     agent:read + runner
POST   /tenant/{tenant_id}/agents/{agent_id}/memory                     agent:settings:write + runner
POST   /tenant/{tenant_id}/agents/{agent_id}/memory/forget              agent:settings:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/memory/{entry_id}          agent:settings:write + runner
GET    /tenant/{tenant_id}/agents/{agent_id}/memory/{entry_id}          agent:read + runner
DELETE /tenant/{tenant_id}/agents/{agent_id}/memory/imports/{id}        agent:settings:write
GET    /tenant/{tenant_id}/benchmark-runs                               tenant:read
POST   /tenant/{tenant_id}/benchmark-runs                               agent:assign in body
GET    /benchmarks                                                      any
POST   /benchmarks                                                      platform
GET    /benchmarks/{slug}                                               any
PATCH  /benchmarks/{slug}                                               platform
DELETE /benchmarks/{slug}                                               platform
GET    /me                                                              any
GET    /me/sign-ins                                                     any but runners
DELETE /me/sign-ins                                                     any but runners
DELETE /me/sign-ins/{id}                                                any on own sign-in
GET    /tenant/{tenant_id}/autocomplete                                 tenant:read
GET    /v1/assistants                                                   any but runners
GET    /tenant/{tenant_id}/billing/agent-costs                          tenant:billing:read
GET    /tenant/{tenant_id}/billing/costs                                tenant:billing:read
GET    /tenant/{tenant_id}/budgets                                      tenant:read
GET    /tenant/{tenant_id}/agents/{agent_id}/budget/usage               agent:read + runner
POST   /tenant/{tenant_id}/billing/checkout-session                     tenant:billing:write
POST   /tenant/{tenant_id}/billing/portal                               tenant:billing:write
GET    /tenant/{tenant_id}/agents/{agent_id}/credential-requests        agent:read
POST   /tenant/{tenant_id}/agents/{agent_id}/credential-requests        agent:read + runner only
GET    /tenant/{tenant_id}/agents/{agent_id}/credentials                agent:read
PUT    /tenant/{tenant_id}/agents/{agent_id}/credentials/{identity_id}  agent:settings:write & tenant:credentials:write
DELETE /tenant/{tenant_id}/agents/{agent_id}/credentials/{identity_id}  agent:settings:write & tenant:credentials:write
POST   /tenant/{tenant_id}/credentials                                  agent:skills:write in body
POST   /tenant/{tenant_id}/database-credentials                         tenant:credentials:write
GET    /tenant/{tenant_id}/linked-identities                            tenant:read
DELETE /tenant/{tenant_id}/linked-identities/{id}                       tenant:credentials:write
POST   /tenant/{tenant_id}/integrations/{provider}/connect              tenant:credentials:write
POST   /tenant/{tenant_id}/agents/{agent_id}/integrations/{provider}/connect  agent:settings:write
POST   /connect/onboarding-link                                         any of a user
GET    /connect/status                                                  any of a user
`;
