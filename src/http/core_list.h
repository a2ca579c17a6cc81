// A doubly linked list whose links live inside its elements: no allocation, and an element that dies leaves its list.
#pragma once

#include "base/must.h"

namespace vg::http {

template <class Tag>
class ListLink {
 public:
  ListLink() = default;
  ~ListLink() { unlink(); }
  ListLink(const ListLink&) = delete;
  ListLink& operator=(const ListLink&) = delete;

  bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (!next_) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

 private:
  template <class T, class ListTag>
  friend class List;
  ListLink* next_ = nullptr;
  ListLink* previous_ = nullptr;
};

// T derives from ListLink<Tag>.
template <class T, class Tag = T>
class List {
 public:
  List() { head_.next_ = head_.previous_ = &head_; }
  ~List() {
    while (!empty()) head_.next_->unlink();
    head_.next_ = head_.previous_ = nullptr;
  }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  bool empty() const { return head_.next_ == &head_; }
  void push_back(T& element) {
    ListLink<Tag>& link = element;
    must(!link.linked());
    link.previous_ = head_.previous_;
    link.next_ = &head_;
    head_.previous_->next_ = &link;
    head_.previous_ = &link;
  }
  // Of a list that is not empty.
  T& front() {
    must(!empty());
    return static_cast<T&>(*head_.next_);
  }
  T* pop_front() {
    if (empty()) return nullptr;
    ListLink<Tag>* first = head_.next_;
    first->unlink();
    return static_cast<T*>(first);
  }
  // All elements of the other list come to the end of this one.
  void take(List& other) {
    while (T* element = other.pop_front()) push_back(*element);
  }
  // fn may unlink the element it is given, and no other one.
  template <class F>
  void each(F&& fn) {
    for (ListLink<Tag>* at = head_.next_; at != &head_;) {
      ListLink<Tag>* next = at->next_;
      fn(static_cast<T&>(*at));
      at = next;
    }
  }

 private:
  ListLink<Tag> head_;
};

}  // namespace vg::http
