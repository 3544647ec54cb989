/** The fields of an agent in the API documents. Plain settings have theirs in plain-settings.ts. */
export const AGENT_FIELDS = {
  name: { description: 'The name that people see: letters, digits, spaces and hyphens', examples: ['Reviewer'] },
  slug: { description: 'The unique name in the tenant, for programs; it never changes', examples: ['reviewer'] },
  is_active: { description: 'Whether deliveries reach the agent. Those to an inactive agent are recorded as blocked', examples: [true] },
  is_admin_only: { description: 'Whether only OWNERs and ADMINs of the tenant can see and use the agent' },
  is_seed: { description: 'Whether the platform created the agent itself' },
  can_author_skills: { description: 'Whether the agent may write skills' },
  repo_url: { description: "The git repository of the agent's code; null: none", examples: ['https://github.com/acme/reviewer.git'] },
  code_ref: { description: 'The branch or tag of the repository; `main` if there is none', examples: ['main'] },
  created_by_id: { description: 'The user who created the agent' },
  created_by_agent_id: { description: 'The agent that created this one' },
  zoom_managed: { description: 'Whether Zoom manages the agent; for runners, the platform itself does not use it' },
  kind: { description: 'What the agent is for; it never changes' },
  external_mail_enabled: {
    description: 'Whether the agent may exchange mail with addresses outside the tenant, if the tenant allows it, too',
    examples: [true],
  },
  skill_visibility_scope: { description: 'Whether skills that the agent writes are its own or visible to the tenant' },
  hourly_limit_usd: { description: 'What the agent may spend in one hour (UTC), in USD; null: no limit', examples: [2.5] },
  ssh_public_key: { description: 'The public SSH key of the agent; for runners, the platform itself does not use it' },
  is_favorite: { description: 'Whether the caller has marked the agent as a favorite' },
} as const;
