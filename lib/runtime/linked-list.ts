/**
 * A set of objects that carry their own links. Adding and removing allocates nothing and hashes nothing; a `Set` that is
 * filled and emptied all the time builds a new table every few operations, each of which keeps the next one alive until
 * the old generation is collected.
 */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

export class LinkedList<T extends Linked<T>> {
  #first: T | undefined;
  #turn: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(member: T): void {
    const first = this.#first;
    member.next = first;
    if (first !== undefined) first.previous = member;
    this.#first = member;
    this.#size++;
  }

  /** Nothing happens to one that is not there. */
  delete(member: T): void {
    const { previous, next } = member;
    if (previous === undefined && this.#first !== member) return;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next !== undefined) next.previous = previous;
    if (this.#turn === member) this.#turn = next;
    member.previous = undefined;
    member.next = undefined;
    this.#size--;
  }

  /** All of them, as they are now. */
  list(): T[] {
    const members: T[] = [];
    for (let member = this.#first; member !== undefined; member = member.next) members.push(member);
    return members;
  }

  /** One after another, round and round. */
  turn(): T | undefined {
    const member = this.#turn ?? this.#first;
    this.#turn = member?.next;
    return member;
  }
}
