/**
 * The run of a cron job that a delivery belongs to. `agent_id` is the agent to which the job belongs, and `name` the
 * name that the job had when it ran.
 */
export type CronOrigin = {
  readonly agent_id: string;
  readonly job_id: string;
  readonly name: string;
  readonly occurrence_id: string;
  readonly due_at: string;
};
