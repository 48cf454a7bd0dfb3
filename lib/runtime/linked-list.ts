/**
 * A set of objects that carry their own links. Adding and removing allocates nothing and hashes nothing. A `Set` that is
 * constantly filled and emptied builds a new table every few operations, and each keeps the next one alive until the old
 * generation is collected.
 */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/** Links that are private, so that printing one member shows none of the others. */
export class Link<T> implements Linked<T> {
  #previous: T | undefined;
  #next: T | undefined;

  get previous(): T | undefined {
    return this.#previous;
  }
  set previous(member: T | undefined) {
    this.#previous = member;
  }

  get next(): T | undefined {
    return this.#next;
  }
  set next(member: T | undefined) {
    this.#next = member;
  }
}

export class LinkedList<T extends Linked<T>> {
  #first: T | undefined;
  #oldest: T | undefined;
  #turn: T | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The one that was added first. */
  get oldest(): T | undefined {
    return this.#oldest;
  }

  add(member: T): void {
    const first = this.#first;
    member.next = first;
    if (first === undefined) this.#oldest = member;
    else first.previous = member;
    this.#first = member;
    this.#size++;
  }

  /** No effect if it is not in the list. */
  delete(member: T): void {
    const { previous, next } = member;
    if (previous === undefined && this.#first !== member) return;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#oldest = previous;
    else next.previous = previous;
    if (this.#turn === member) this.#turn = next;
    member.previous = undefined;
    member.next = undefined;
    this.#size--;
  }

  /** All current members, as an array. */
  list(): T[] {
    const members: T[] = [];
    for (let member = this.#first; member !== undefined; member = member.next) members.push(member);
    return members;
  }

  /** The next member, starting over after the last one. */
  turn(): T | undefined {
    const member = this.#turn ?? this.#first;
    this.#turn = member?.next;
    return member;
  }
}
