/** What the clients of a run have in common: each does its work once, and an error that it does not expect fails the run. */
import type { Player, Stage } from '../world/stage.js';
import { describe } from './worker.js';

export abstract class Routine {
  protected readonly stage: Stage;
  protected readonly player: Player;
  #isDone = false;

  constructor(stage: Stage, player: Player) {
    this.stage = stage;
    this.player = player;
  }

  get isOver(): boolean {
    return this.#isDone || !this.player.client.isAlive;
  }

  async run(): Promise<void> {
    try {
      await this.work();
    } catch (error) {
      this.stage.checker.fail('exception', describe(error));
    }
    this.#isDone = true;
  }

  protected abstract work(): Promise<void>;
}
