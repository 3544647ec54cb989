/** `agent_id`: the agent to which the job belongs; `name`: that of the job when it ran. */
export type CronOrigin = {
  readonly agent_id: string;
  readonly job_id: string;
  readonly name: string;
  readonly occurrence_id: string;
  readonly due_at: string;
};
